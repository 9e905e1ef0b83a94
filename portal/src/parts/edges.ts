/** Where a part of the page that scrolls sideways has more than it shows. */
export type Edges = "" | "left" | "right" | "left right";

type Extent = Pick<Element, "scrollLeft" | "scrollWidth" | "clientWidth">;

const NEAR_PX = 2; // widths are rounded

export function edgesOf({ scrollLeft, scrollWidth, clientWidth }: Extent): Edges {
  const hasLeft = scrollLeft > NEAR_PX;
  const hasRight = scrollWidth - clientWidth - scrollLeft > NEAR_PX;
  if (hasLeft) return hasRight ? "left right" : "left";
  return hasRight ? "right" : "";
}
