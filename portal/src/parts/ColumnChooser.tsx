import { Button, Checkbox, Menu, Stack } from "@mantine/core";

import type { Column, ShownColumns } from "./columns";
import { ColumnsIcon } from "./icons";
import { useLanguage } from "@/words/language";

/** Which columns a table shows. That some are hidden can be seen without opening it. */
export function ColumnChooser<Row>({ all, columns }: { all: Column<Row>[]; columns: ShownColumns<Row> }) {
  const { words } = useLanguage();
  const free = all.filter((column) => !column.isFixed);
  return (
    <Menu closeOnItemClick={false} position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<ColumnsIcon />}>
          {words.table.columns} {columns.shown.length}/{all.length}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Stack gap={6} p={6}>
          {free.map((column) => (
            <Checkbox
              key={column.id}
              label={column.label}
              checked={columns.isShown(column.id)}
              onChange={() => columns.toggle(column.id)}
            />
          ))}
          <Button variant="subtle" size="compact-xs" disabled={columns.isDefault} onClick={columns.reset}>
            {words.table.resetColumns}
          </Button>
        </Stack>
      </Menu.Dropdown>
    </Menu>
  );
}
