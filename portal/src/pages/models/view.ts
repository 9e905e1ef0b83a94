import type { Schemas } from "@/api/client";
import { quoted } from "@/parts/Command";

export type Model = Schemas["ModelOut"];

/** What the address of the list says: whose models they are, `*` for those of everybody. */
export interface ModelsView {
  owner?: string;
}

export const readModelsView = (search: Record<string, unknown>): ModelsView =>
  typeof search.owner === "string" && search.owner ? { owner: search.owner } : {};

/** What the address of one model says besides its name: its owner, and the version that is shown. */
export interface ModelView extends ModelsView {
  version?: number;
}

export function readModelView(search: Record<string, unknown>): ModelView {
  const version = Number(search.version);
  return { ...readModelsView(search), ...(Number.isInteger(version) && version > 0 && { version }) };
}

export const refOf = (model: Pick<Model, "name" | "version">): string => `${model.name}@${model.version}`;

/** Where a file of the model is downloaded from. Its path is that in the model. */
export const fileAddress = (model: Pick<Model, "id">, path: string): string =>
  `/api/v1/models/${encodeURIComponent(model.id)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;

/** The command of somebody who is not the owner names that. */
export const ownerOption = (model: Pick<Model, "owner">, user: string): string =>
  model.owner === user ? "" : ` --owner ${quoted(model.owner)}`;
