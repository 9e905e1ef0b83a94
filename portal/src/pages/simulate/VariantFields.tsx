import { ActionIcon, Group, NumberInput, Select } from "@mantine/core";

import { POLICIES, type Variant } from "./asking";
import { CrossIcon } from "@/parts/icons";
import { fill, useWords } from "@/words/language";

interface VariantFieldsProps {
  number: number;
  variant: Variant;
  models: string[];
  onChange: (variant: Variant) => void;
  onRemove: (() => void) | undefined;
}

/** One way to run the same jobs: a policy, and perhaps more GPUs of a model. */
export function VariantFields({ number, variant, models, onChange, onRemove }: VariantFieldsProps) {
  const words = useWords();
  return (
    <Group gap="xs" align="end">
      <Select
        label={fill(words.simulate.policy, { n: number })}
        data={POLICIES.map((value) => ({ value, label: words.simulate.policies[value] }))}
        value={variant.policy}
        onChange={(policy) => policy && onChange({ ...variant, policy })}
        allowDeselect={false}
        w={240}
      />
      <Select
        label={words.simulate.model}
        data={models}
        value={variant.model || null}
        onChange={(model) => onChange({ ...variant, model: model ?? "" })}
        disabled={models.length === 0}
        clearable
        w={190}
      />
      <NumberInput
        label={words.simulate.more}
        value={variant.more}
        min={-100_000}
        max={100_000}
        disabled={!variant.model}
        onChange={(more) => onChange({ ...variant, more: Number(more) || 0 })}
        w={110}
      />
      {onRemove && (
        <ActionIcon aria-label={fill(words.simulate.removeVariant, { n: number })} onClick={onRemove} mb={4}>
          <CrossIcon />
        </ActionIcon>
      )}
    </Group>
  );
}
