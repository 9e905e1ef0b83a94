import { createTheme, Drawer, Modal } from "@mantine/core";

/** Sizes fit dense tables. Locking the scroll position would write a style tag, which the policy refuses. */
export const theme = createTheme({
  fontFamily: "var(--mantine-font-family)",
  fontFamilyMonospace: "var(--mantine-font-family-monospace)",
  defaultRadius: "sm",
  respectReducedMotion: true,
  components: {
    Modal: Modal.extend({ defaultProps: { lockScroll: false } }),
    Drawer: Drawer.extend({ defaultProps: { lockScroll: false } }),
    Button: { defaultProps: { size: "xs" } },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray" } },
    TextInput: { defaultProps: { size: "xs" } },
    NumberInput: { defaultProps: { size: "xs" } },
    PasswordInput: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "xs" } },
    Select: { defaultProps: { size: "xs" } },
    MultiSelect: { defaultProps: { size: "xs" } },
    Autocomplete: { defaultProps: { size: "xs" } },
    TagsInput: { defaultProps: { size: "xs" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Checkbox: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "xs" } },
    Table: { defaultProps: { captionSide: "top", verticalSpacing: 4 } },
    Tabs: { defaultProps: { keepMounted: false } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300, multiline: true, maw: 420 } },
  },
});
