/** The parameter of a request that selects a page; the first page has none. */
export interface NextPage {
  marker?: string;
}

/** Returns the parameter of the next page of a list of either API, or undefined after the last page. */
export function nextPage(page: object): NextPage | undefined {
  const { next, ...lists } = page as Record<string, unknown>;
  const links = Object.entries(lists).flatMap(([name, value]) => name.endsWith("_links") ? value as { rel: string; href: string }[] : []);
  const href = typeof next === "string" ? next : links.find(({ rel }) => rel === "next")?.href;
  const marker = href && new URL(href, "http://localhost").searchParams.get("marker");
  return marker ? { marker } : undefined;
}
