/** What was wrong with a text, and has been read all the same. */
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

/** A text that could be read in more ways than one, or in none. It is never shown: the text is passed on as it came. */
export class Ambiguous extends Error {}
