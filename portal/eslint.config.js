import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

// What writes style tags, which the content security policy refuses.
const REFUSED_COMPONENTS = ["AppShell", "Grid", "SimpleGrid", "ColorSchemeScript"];

export default tseslint.config(
  { ignores: ["dist", "node_modules", "public", "src/api/schema.d.ts"] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  a11y.flatConfigs.recommended,
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  {
    plugins: { "react-hooks": hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/non-nullable-type-assertion-style": "off",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "react-hooks/incompatible-library": "off", // React Compiler is not used
      "no-restricted-syntax": [
        "error",
        { selector: "JSXText[value=/[A-Za-z]{2}/]", message: "Texts belong into words/en.ts and words/zh.ts." },
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "Nothing is inserted as markup." },
      ],
      "no-restricted-imports": [
        "error",
        {
          paths: [
            {
              name: "@mantine/core",
              importNames: REFUSED_COMPONENTS,
              message: "It writes a style tag, which the content security policy refuses.",
            },
            { name: "@mantine/core/styles.css", message: "Import the styles of the component in theme/styles.ts." },
          ],
        },
      ],
    },
  },
  { files: ["**/*.js", "*.config.ts", "budget.ts"], extends: [tseslint.configs.disableTypeChecked] },
);
