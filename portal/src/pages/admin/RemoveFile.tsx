import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { answer, api, type Schemas } from "@/api/client";
import { quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { fill, useWords } from "@/words/language";

export function RemoveFile({ file, onClose }: { file: Schemas["ClusterFileOut"]; onClose: () => void }) {
  const words = useWords();
  const client = useQueryClient();
  const navigate = useNavigate({ from: "/admin" });
  const removing = useMutation({
    mutationFn: () =>
      answer(
        api.DELETE("/api/v1/cluster-files/{name}", {
          params: { path: { name: file.name }, query: { base: file.sha256 } },
        }),
      ),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["cluster-files"] });
      void navigate({ search: { tab: "files" } });
    },
  });
  return (
    <ConfirmDialog
      isOpen
      title={words.admin.deleteFile}
      text={fill(words.admin.deleteAsk, { name: file.name })}
      commands={[`rm ~/.muster/clusters.d/${quoted(file.name)}`]}
      confirm={words.admin.deleteFile}
      isDangerous
      isPending={removing.isPending}
      error={removing.error}
      onConfirm={() => removing.mutate()}
      onClose={onClose}
    />
  );
}
