"""The README's animation: `python docs/explorables/animate.py` writes docs/_static/tokens.gif.

Headless Chromium opens tokens.html and moves its slider; needs `selenium`, chromium, chromedriver.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver import Keys
from selenium.webdriver.chrome.service import Service

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "_static" / "tokens.gif"
WIDTH = 760
SECONDS, LAST_SECONDS = 1.1, 3.0
# The text and the point on the law's line, side by side; what a reader would click is left out.
LAYOUT = """
document.documentElement.dataset.theme = "light";
const style = document.createElement("style");
style.textContent = `
  h1 + p, .controls label:first-child, .columns > div { display: none; }
  .columns { display: block; }
  main { display: grid; grid-template-columns: 1fr 290px; gap: 0 1rem; padding: 0.5rem; }
  h1, .controls, .key { grid-column: 1 / 3; } .columns { grid-column: 2; grid-row: 4 / 6; }
  .tokens { grid-column: 1; } .said { grid-column: 1; } .tokens span { outline: none !important; }
  input { outline: none !important; }
`;
document.head.append(style);
"""


def main() -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--window-size={WIDTH + 40},900")
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    frames = []
    try:
        driver.get((HERE / "tokens.html").as_uri())
        driver.execute_script(LAYOUT)
        slider = driver.find_element("name", "model")
        for _ in range(int(slider.get_attribute("max")) + 1):
            picture = driver.find_element("id", "explorable").screenshot_as_png
            frames.append(Image.open(io.BytesIO(picture)).convert("RGB"))
            slider.send_keys(Keys.ARROW_RIGHT)
    finally:
        driver.quit()
    height = max(frame.height for frame in frames)
    drawn = []
    for frame in frames:
        whole = Image.new("RGB", (frame.width, height), "white")
        whole.paste(frame)
        drawn.append(whole.quantize(64, dither=Image.Dither.NONE))
    durations = [int(1000 * SECONDS)] * (len(drawn) - 1) + [int(1000 * LAST_SECONDS)]
    drawn[0].save(TARGET, save_all=True, append_images=drawn[1:], duration=durations, loop=0)
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes, {len(drawn)} frames")


if __name__ == "__main__":
    main()
