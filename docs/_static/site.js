// An excerpt in the search begins with the page's own text, not with the menu above it.
if (typeof Search !== "undefined") {
  const toText = Search.htmlToText;
  Search.htmlToText = (source, anchor) => {
    const page = new DOMParser().parseFromString(source, "text/html");
    for (const menu of page.querySelectorAll(".bd-header-article, #jb-print-docs-body, .toc-item")) menu.remove();
    return toText(page.documentElement.outerHTML, anchor);
  };
}
