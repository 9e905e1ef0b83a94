import { useEffect, useRef, useState, type ReactNode } from "react";

import { edgesOf, type Edges } from "./edges";
import classes from "./Scrolled.module.css";

/**
 * A wide table that scrolls sideways by itself, with a shadow at the edges that hide a part of it. It can be reached by
 * keyboard, so that it can be scrolled by keys.
 */
export function Scrolled({ label, children }: { label: string; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const [edges, setEdges] = useState<Edges>("");
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const look = () => setEdges(edgesOf(element));
    const resized = new ResizeObserver(look);
    [element, ...element.children].forEach((each) => resized.observe(each));
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div ref={place} className={classes.scrolled} data-more={edges} tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
