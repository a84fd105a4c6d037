import { point } from '#kernel'

/** Something that has an id and can be put on a clipboard. */
export interface Copyable {
  /** What it is called: `note`, `task`, `link`. */
  name: string
  /** The text of one that is the agent's; undefined when there is none. */
  text(agent_id: string, id: string): Promise<string | undefined>
}
/** What else than a plain text the tools of the clipboard can copy; the toolkit that has it contributes it. */
export const Copyables = point<Copyable>('copyables', {
  key: ({ name }) => name,
  has: { name: 'text', text: 'function' },
})
