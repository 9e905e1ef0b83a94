import { stringify } from "yaml";

/** A spec as YAML; long lines are not folded. */
export const yamlOf = (value: unknown): string => stringify(value, { lineWidth: 0 });
