import { createRequire } from 'node:module';

const js = createRequire(`${process.env.VIEW_TOOLS}/`)('@eslint/js');

const rules = {
  ...js.configs.recommended.rules,
  'no-undef': 'off', // TypeScript knows what is defined
  'no-eval': 'error',
  'no-implied-eval': 'error',
  'no-new-func': 'error',
  'prefer-const': 'error',
  'no-var': 'error',
  eqeqeq: 'error',
  'max-lines': ['error', 500],
  'max-lines-per-function': ['error', { max: 60, skipComments: true }],
};

export default [
  {
    files: ['src/view/page/*.js'],
    languageOptions: { ecmaVersion: 2022, sourceType: 'script' },
    // A script uses declarations of others: the page joins them.
    rules: { ...rules, 'no-unused-vars': ['error', { vars: 'local' }], 'no-redeclare': 'off' },
  },
  {
    files: ['tests/view/page/*.mjs'],
    languageOptions: { ecmaVersion: 2022, sourceType: 'module' },
    rules: { ...rules, 'max-lines-per-function': 'off' },
  },
];
