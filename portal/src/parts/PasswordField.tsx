import { PasswordInput, type PasswordInputProps } from "@mantine/core";

import { useWords } from "@/words/language";

/** A field for a password, whose button to show it has a name in the reader's language. */
export function PasswordField(props: PasswordInputProps) {
  const words = useWords();
  return <PasswordInput visibilityToggleButtonProps={{ "aria-label": words.common.showPassword }} {...props} />;
}
