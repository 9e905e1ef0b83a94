import { Link } from "@tanstack/react-router";
import { memo } from "react";

import { cellOf, gpuUsage, isHeld, racksOf, type Colouring, type Gpu } from "./cells";
import classes from "./HeatMap.module.css";
import type { Node } from "@/api/client";
import { bytesText, coresText } from "@/parts/amounts";
import { fill, named, useLanguage } from "@/words/language";
import type { Words } from "@/words/shape";

/** One row per node with a cell per GPU, in racks. A node is drawn again only if it has changed. */
export function HeatMap({ nodes, by }: { nodes: Node[]; by: Colouring }) {
  return (
    <div className={classes.map}>
      {racksOf(nodes).map((rack) => (
        <section key={rack.name} className={classes.rack} aria-label={rack.name}>
          <h2 className={classes.title}>{rack.name}</h2>
          <ul className={classes.nodes}>
            {rack.nodes.map((node) => (
              <NodeCells key={`${node.cluster}/${node.name}`} node={node} by={by} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

const NodeCells = memo(function NodeCells({ node, by }: { node: Node; by: Colouring }) {
  const { words } = useLanguage();
  const held = node.gpus.filter(isHeld).length;
  const summary = fill(words.cluster.nodeSummary, {
    name: node.name,
    state: named(words.states, node.state),
    used: held,
    total: node.gpus.length,
  });
  return (
    <li className={classes.node} data-state={node.state}>
      <Link
        to="/nodes/$name"
        params={{ name: node.name }}
        search={{ cluster: node.cluster }}
        {...(node.gpus.length > 0 ? { "aria-label": summary } : {})}
      >
        <span className={classes.name} title={node.note || node.name}>
          {node.name}
          {node.alerts.length > 0 && (
            <span className={classes.alert} aria-hidden="true" title={node.alerts.join("\n")}>
              {" "}
              ⚠
            </span>
          )}
        </span>
        <span className={classes.cells} aria-hidden={node.gpus.length > 0}>
          {node.gpus.map((gpu) => {
            const cell = cellOf(node, gpu, by);
            return (
              <span
                key={gpu.index}
                className={classes.cell}
                data-tone={cell.tone}
                data-letter={cell.letter}
                title={gpuTitle(words, node, gpu)}
              />
            );
          })}
          {node.gpus.length === 0 && (
            <span className={classes.plain}>{`${coresText(node.cpu.used)}/${coresText(node.cpu.total)} CPU`}</span>
          )}
        </span>
      </Link>
    </li>
  );
});

export function gpuTitle(words: Words, node: Node, gpu: Gpu): string {
  const usage = gpuUsage(node, gpu.index);
  const lines = [`${node.name} · GPU ${gpu.index} · ${gpu.model}`];
  if (gpu.outOfService) lines.push(fill(words.cluster.outOfService, { why: gpu.outOfService }));
  lines.push(
    isHeld(gpu) ? [gpu.job ?? words.cluster.inUse, gpu.owner].filter(Boolean).join(" · ") : words.cluster.free,
  );
  if (usage?.load !== undefined && usage.load !== null) lines.push(fill(words.cluster.loadOf, { percent: usage.load }));
  if (usage?.memoryUsedBytes && usage.memoryTotalBytes) {
    lines.push(`${bytesText(usage.memoryUsedBytes)} / ${bytesText(usage.memoryTotalBytes)}`);
  }
  if (usage?.temperatureC) lines.push(`${usage.temperatureC} °C`);
  return lines.join("\n");
}
