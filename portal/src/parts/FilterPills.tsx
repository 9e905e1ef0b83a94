import { Button, Group, Pill } from "@mantine/core";

import { fill, useWords } from "@/words/language";

export interface ActiveFilter {
  id: string;
  label: string;
  value: string;
  onRemove: () => void;
}

/** The filters in force, each with a button that takes it away, so that no filter is a trap. */
export function FilterPills({ filters, onClear }: { filters: ActiveFilter[]; onClear: () => void }) {
  const words = useWords();
  if (filters.length === 0) return null;
  return (
    <Group gap={6}>
      {filters.map((filter) => (
        <Pill
          key={filter.id}
          withRemoveButton
          onRemove={filter.onRemove}
          removeButtonProps={{
            tabIndex: 0,
            "aria-hidden": false,
            "aria-label": fill(words.table.removeFilter, { filter: `${filter.label}: ${filter.value}` }),
          }}
        >
          {filter.label}: {filter.value}
        </Pill>
      ))}
      <Button variant="subtle" size="compact-xs" onClick={onClear}>
        {words.table.clearFilters}
      </Button>
    </Group>
  );
}
