import { DECEIVING } from '#lib/sanitize'

/** HTML that is safe to put into a page. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Content = Markup | string | number | null | undefined | false | readonly Content[]

/** Builds markup from a template. Escapes every value that is not markup, in text and in quoted attributes. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Markup {
  return new Markup(parts.reduce((text, part, n) => `${text}${textOf(values[n - 1])}${part}`))
}

function textOf(value: Content): string {
  if (value instanceof Markup) return value.text
  if (Array.isArray(value)) return value.map(textOf).join('')
  return value === null || value === undefined || value === false ? '' : escapeHtml(String(value))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

function escapeHtml(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(DECEIVING, '\ufffd')
    .replace(/[&<>"'`]/g, character => ENTITIES[character]!)
}
