// Small charts. They are hidden from screen readers, because the numbers are next to them as text.

const SVG = "http://www.w3.org/2000/svg";
const GAP_MS = 10_000; // nodes are sampled every two seconds; samples further apart than this are not connected
const HIGH = 0.9;

function shape(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function chart(className, width, height, ...children) {
  const viewBox = `0 0 ${width} ${height}`;
  return shape("svg", { class: className, viewBox, preserveAspectRatio: "none", "aria-hidden": "true" }, ...children);
}

// A usage bar without a warning colour.
export const gauge = (used, total) => bar("gauge", partOf(used, total));

// A usage bar with a warning colour when it is almost full.
export function warningGauge(used, total) {
  const part = partOf(used, total);
  return bar(part >= HIGH ? "gauge high" : "gauge", part);
}

const partOf = (used, total) => (total > 0 ? Math.min(1, Math.max(0, (used || 0) / total)) : 0);

function bar(className, part) {
  return chart(className, 100, 6,
    shape("rect", { class: "track", width: 100, height: 6 }),
    shape("rect", { class: "fill", width: (100 * part).toFixed(1), height: 6 }));
}

// A vertical bar for the load of a GPU, crossed out if the GPU is out of service.
export function cardMark(load, isOut) {
  const height = 22 * Math.min(1, Math.max(0, (load || 0) / 100));
  const cross = isOut ? [shape("path", { class: "cross", d: "M0 0L12 22M12 0L0 22" })] : [];
  return chart(isOut ? "card out" : "card", 12, 22,
    shape("rect", { class: "track", width: 12, height: 22 }),
    shape("rect", { class: "fill", y: (22 - height).toFixed(1), width: 12, height: height.toFixed(1) }), ...cross);
}

// `points` are [milliseconds, value or null], the oldest first; the newest is at the right edge.
export function sparkline(points, most, spanMs) {
  const width = 100;
  const height = 24;
  const end = points.length ? points[points.length - 1][0] : 0;
  const place = ([when, value]) => [
    width * (1 - (end - when) / spanMs),
    height - 1 - (height - 2) * Math.min(1, Math.max(0, most > 0 ? value / most : 0)),
  ];
  const lines = pieces(points.filter(([when]) => when >= end - spanMs)).map((piece) => piece.map(place));
  const path = (line) => line.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const area = (line) => `${path(line)}V${height}H${line[0][0].toFixed(1)}Z`;
  return chart("spark", width, height,
    shape("path", { class: "area", d: lines.map(area).join("") }),
    shape("path", { class: "line", d: lines.map(path).join("") }));
}

function pieces(points) {
  const found = [];
  let before = null;
  for (const point of points) {
    if (point[1] === null || point[1] === undefined) {
      before = null;
      continue;
    }
    if (before === null || point[0] - before > GAP_MS) found.push([]);
    found[found.length - 1].push(point);
    before = point[0];
  }
  return found;
}
