import { ActionIcon, Button, Text, TextInput } from "@mantine/core";
import { useState } from "react";

import { rowsOf, withKey } from "./form_values";
import type { FormProps } from "./JobForm";
import classes from "./SubmitPage.module.css";
import { withValue, type Path } from "./yaml_edit";
import { CrossIcon, PlusIcon } from "@/parts/icons";
import { fill, useWords } from "@/words/language";

/** Names with values, such as variables; the last row adds one. */
export function Pairs({ text, spec, onChange, path, title }: FormProps & { path: Path; title: string }) {
  const words = useWords();
  const [name, setName] = useState("");
  const rows = rowsOf(spec, path);
  const isNew = name.trim() !== "" && !rows.some(([each]) => each === name.trim());
  const add = () => {
    if (!isNew) return;
    onChange(withValue(text, [...path, name.trim()], ""));
    setName("");
  };
  return (
    <div>
      <Text size="xs" fw={600} mt={6} mb={2}>
        {title}
      </Text>
      {rows.map(([key, value]) => (
        <div className={classes.pair} key={key}>
          <TextInput
            aria-label={fill(words.submit.nameOf, { list: title, name: key })}
            defaultValue={key}
            onBlur={(event) => {
              const wanted = event.currentTarget.value.trim();
              if (wanted && wanted !== key) onChange(withKey(text, path, key, wanted));
            }}
          />
          <TextInput
            aria-label={fill(words.submit.valueOf, { list: title, name: key })}
            value={value ?? ""}
            disabled={value === null}
            onChange={(event) => onChange(withValue(text, [...path, key], event.currentTarget.value))}
          />
          <ActionIcon
            aria-label={fill(words.submit.removePair, { name: key })}
            onClick={() => onChange(withValue(text, [...path, key], undefined))}
          >
            <CrossIcon />
          </ActionIcon>
        </div>
      ))}
      <div className={classes.pair}>
        <TextInput
          aria-label={fill(words.submit.newName, { list: title })}
          placeholder={words.submit.newNameHint}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") add();
          }}
        />
        <Button
          variant="subtle"
          leftSection={<PlusIcon />}
          disabled={!isNew}
          onClick={add}
          aria-label={`${words.submit.add}: ${title}`}
        >
          {words.submit.add}
        </Button>
      </div>
    </div>
  );
}
