import { Code } from "@mantine/core";

/** A text in which what stands between backticks is code, such as a command. */
export const WithCode = ({ text }: { text: string }) =>
  text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? <Code key={index}>{part}</Code> : part));
