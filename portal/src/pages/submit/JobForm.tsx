import { Accordion, Button, Fieldset, Group, Select, Text, Textarea, TextInput } from "@mantine/core";

import { fieldText, rolesOf, typedValue, withKey, withoutRole, withRole, type RoleFields } from "./form_values";
import { Pairs } from "./Pairs";
import classes from "./SubmitPage.module.css";
import { valueAt, withValue, type Path } from "./yaml_edit";
import { CrossIcon, PlusIcon } from "@/parts/icons";
import { fill, useWords } from "@/words/language";

export interface FormProps {
  text: string;
  spec: Record<string, unknown>;
  onChange: (text: string) => void;
}

const FRAMEWORKS = ["paddle", "torch", "tensorflow", "mpi", "jax", "plain", "none"];
const PRIORITIES = ["low", "normal", "high", "urgent"];

/** The fields that most jobs need, then the rest. Each change is a change of the job file, and of nothing else in it. */
export function JobForm({ clusters, ...form }: FormProps & { clusters: readonly string[] }) {
  const words = useWords();
  const roles = rolesOf(form.spec);
  return (
    <>
      <div className={classes.fields}>
        <Field {...form} path={["name"]} label={words.submit.name} />
        <Choice {...form} path={["cluster"]} label={words.submit.cluster} choices={clusters} />
        <Choice {...form} path={["priority"]} label={words.submit.priority} choices={PRIORITIES} />
        <Choice {...form} path={["framework"]} label={words.submit.framework} choices={FRAMEWORKS} />
      </div>
      {roles.map((role) => (
        <Role key={role.name ?? ""} {...form} role={role} isOnly={roles.length === 1} />
      ))}
      <Button
        variant="subtle"
        size="compact-xs"
        mt={6}
        leftSection={<PlusIcon />}
        onClick={() => form.onChange(withRole(form.text, form.spec))}
      >
        {words.submit.addRole}
      </Button>
      <Accordion variant="contained" mt="xs" multiple chevronPosition="left">
        <More {...form} />
      </Accordion>
    </>
  );
}

function More(form: FormProps) {
  const words = useWords();
  return (
    <>
      <Accordion.Item value="env">
        <Accordion.Control>{words.submit.envAndParams}</Accordion.Control>
        <Accordion.Panel>
          <Pairs {...form} path={["env"]} title={words.submit.env} />
          <Pairs {...form} path={["params"]} title={words.submit.params} />
          <Pairs {...form} path={["labels"]} title={words.submit.labels} />
        </Accordion.Panel>
      </Accordion.Item>
      <Accordion.Item value="limits">
        <Accordion.Control>{words.submit.limits}</Accordion.Control>
        <Accordion.Panel>
          <div className={classes.fields}>
            <Field {...form} path={["timeLimit"]} label={words.submit.timeLimit} placeholder="2h30m" />
            <Field {...form} path={["retry", "max"]} label={words.submit.retries} kind="number" placeholder="0" />
            <Field {...form} path={["runtime", "image"]} label={words.submit.image} />
            <Field {...form} path={["runtime", "conda"]} label={words.submit.conda} />
            <Field {...form} path={["runtime", "venv"]} label={words.submit.venv} />
            <Field {...form} path={["after"]} label={words.submit.after} kind="list" />
            <Field {...form} path={["outputs"]} label={words.submit.outputs} kind="list" placeholder="model/" />
            <Field {...form} path={["description"]} label={words.submit.description} />
          </div>
        </Accordion.Panel>
      </Accordion.Item>
    </>
  );
}

function Role({ role, isOnly, ...form }: FormProps & { role: RoleFields; isOnly: boolean }) {
  const words = useWords();
  const at = (...path: string[]): Path => [...role.path, ...path];
  const { name } = role;
  return (
    <Fieldset legend={name ?? words.submit.tasks} mt={8} p={8}>
      {name !== null && (
        <Group gap={8} mb={6} align="end">
          <TextInput
            key={name}
            label={words.submit.role}
            defaultValue={name}
            onBlur={(event) => {
              const wanted = event.currentTarget.value.trim();
              if (wanted && wanted !== name) form.onChange(withKey(form.text, ["roles"], name, wanted));
            }}
          />
          {!isOnly && (
            <Button
              variant="subtle"
              color="gray"
              leftSection={<CrossIcon />}
              onClick={() => form.onChange(withoutRole(form.text, name))}
            >
              {fill(words.submit.removeRole, { role: name })}
            </Button>
          )}
        </Group>
      )}
      <div className={classes.fields}>
        <div className={classes.whole}>
          <Field {...form} path={at("command")} label={words.submit.command} isLong />
        </div>
        <Field {...form} path={at("replicas")} label={words.submit.replicas} kind="number" placeholder="1" />
        <Field {...form} path={at("resources", "gpu")} label={words.submit.gpu} kind="number" placeholder="0" />
        <Field {...form} path={at("resources", "gpuType")} label={words.submit.gpuType} kind="list" />
        <Field {...form} path={at("resources", "cpu")} label={words.submit.cpu} kind="number" placeholder="250m" />
        <Field {...form} path={at("resources", "memory")} label={words.submit.memory} placeholder="8Gi" />
      </div>
    </Fieldset>
  );
}

interface FieldProps extends FormProps {
  path: Path;
  label: string;
  kind?: "text" | "number" | "list";
  placeholder?: string;
  isLong?: boolean;
}

function Field({ text, spec, onChange, path, label, kind = "text", placeholder, isLong }: FieldProps) {
  const words = useWords();
  const shown = fieldText(valueAt(spec, path));
  if (shown === null || (kind === "text" && Array.isArray(valueAt(spec, path)))) {
    return (
      <Text size="xs" className="soft">
        {fill(words.submit.onlyInFile, { field: label })}
      </Text>
    );
  }
  const set = (typed: string) => onChange(withValue(text, path, typedValue(typed, kind)));
  const shared = { label, value: shown, ...(placeholder ? { placeholder } : {}) };
  if (isLong) {
    return <Textarea {...shared} autosize={false} rows={2} onChange={(event) => set(event.currentTarget.value)} />;
  }
  return <TextInput {...shared} onChange={(event) => set(event.currentTarget.value)} />;
}

function Choice({ text, spec, onChange, path, label, choices }: FieldProps & { choices: readonly string[] }) {
  const words = useWords();
  const value = fieldText(valueAt(spec, path));
  const data = value && !choices.includes(value) ? [value, ...choices] : [...choices];
  return (
    <Select
      label={label}
      placeholder={words.submit.byDefault}
      data={data}
      value={value === "" ? null : value}
      onChange={(chosen) => onChange(withValue(text, path, chosen ?? undefined))}
      clearable
      searchable={choices.length > 8}
    />
  );
}
