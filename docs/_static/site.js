// An excerpt in the search begins with the page's own text, not with the menu above it; the entry
// of an index has no text, so its page speaks for it.
if (typeof Search !== "undefined") {
  const toText = Search.htmlToText;
  Search.htmlToText = (source, anchor) => {
    const page = new DOMParser().parseFromString(source, "text/html");
    for (const menu of page.querySelectorAll(".bd-header-article, #jb-print-docs-body")) menu.remove();
    const html = page.documentElement.outerHTML;
    return toText(html, anchor).trim() || toText(html);
  };
}
