/** Defect of a text that was repaired. */
export type Repair =
  | 'apostrophes'
  | 'bare_values'
  | 'comments'
  | 'double_braces'
  | 'entities'
  | 'extra_closers'
  | 'extra_commas'
  | 'fence'
  | 'list_around'
  | 'missing_closers'
  | 'missing_commas'
  | 'needless_escapes'
  | 'odd_numbers'
  | 'prose_around'
  | 'python_literals'
  | 'raw_control_characters'
  | 'single_quotes'
  | 'smart_quotes'
  | 'text_in_text'
  | 'trailing_commas'
  | 'unescaped_backslashes'
  | 'unescaped_quotes'
  | 'unquoted_keys'
  | 'wrong_separators'

/** Thrown if a text can be read in several ways, or in none. Never shown to users: the original text is passed on. */
export class Ambiguous extends Error {}
