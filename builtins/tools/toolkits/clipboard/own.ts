import { Memory } from '#core/memory/contract'
import type { PluginHandle } from '#kernel'

/** A clipboard that stores one text. */
export interface Clipboard {
  /** Name of the clipboard in messages: "your clipboard". */
  readonly name: string
  write(text: string): Promise<void>
  read(): Promise<string>
}

/** An agent's own clipboard: a file beside its memory. */
export function ownClipboard(svc: PluginHandle, agent_id: string): Clipboard {
  const values = svc.use(Memory).file(agent_id, 'clipboard')
  return {
    name: 'your clipboard',
    write: text => values.set('text', text),
    read: async () => (await values.get('text')) ?? '',
  }
}
