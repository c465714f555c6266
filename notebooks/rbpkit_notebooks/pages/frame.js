// The page around an explorable: it makes the frame as high as what it shows, and says whether
// the page is dark or light. Of a site's page (data-theme) or of JupyterLab (jpThemeLight).
(() => {
  const theme = () => document.documentElement.dataset.theme
    ?? { true: "light", false: "dark" }[document.body.dataset.jpThemeLight];
  const frames = () => [...document.querySelectorAll("iframe.explorable")];
  const tell = (frame) => frame.contentWindow?.postMessage({ theme: theme() }, "*");
  window.addEventListener("message", ({ source, data }) => {
    const frame = frames().find((one) => one.contentWindow === source);
    if (!frame || !data?.height) return;
    frame.style.height = `${data.height}px`;
    tell(frame);
  });
  const watch = new MutationObserver(() => frames().forEach(tell));
  for (const element of [document.documentElement, document.body]) {
    watch.observe(element, { attributeFilter: ["data-theme", "data-jp-theme-light"] });
  }
})();
