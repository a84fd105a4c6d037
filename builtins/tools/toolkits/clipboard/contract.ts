import { point } from '#kernel'

/** An item with an id that can be copied to a clipboard. */
export interface Copyable {
  /** Kind of item: `note`, `task`, `link`. */
  name: string
  /** Returns the text of one of the agent's items; undefined if there is none. */
  text(agent_id: string, id: string): Promise<string | undefined>
}
/** Kinds of items that the clipboard tools can copy, added by the toolkits that own them. */
export const Copyables = point<Copyable>('copyables', {
  key: ({ name }) => name,
  has: { name: 'text', text: 'function' },
})
