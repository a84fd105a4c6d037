import { AgentNotFoundError, Agents } from '#core/agents/contract'
import { type PluginHandle, z } from '#kernel'
import { type Toolkit, tool } from '#tools/toolkits/contract'
import type { NotepadConfig } from './config.ts'
import { NotepadError, type Notepads } from './notepad.ts'

const window = {
  limit: z.coerce.number().int().min(1).max(1000).default(20).describe('Maximum number of entries (1 to 1000)'),
  offset: z.coerce.number().int().min(0).default(0).describe('Number of newest entries to skip'),
}

/** Tools for a notepad that an agent keeps from one goal to the next. */
export function notepadToolkit(svc: PluginHandle, notepads: Notepads, config: NotepadConfig): Toolkit {
  return {
    name: 'notepad',
    everyday: true,
    instructions:
      'Your notepad persists across goals: write down what you will need later (findings, decisions, what to do next). Its newest entries are shown to you when a goal begins.',
    tools: [
      tool({
        name: 'write_notepad',
        description: 'Add an entry to your notepad, with the current time, to remember in later goals.',
        parameters: z.object({
          text: z.string().trim().min(1).max(20_000).describe('What to remember, in a few sentences'),
        }),
        async execute({ text }, { agent_id }) {
          return `Noted. The notepad has ${await notepads.append(agent_id, text)} bytes.`
        },
      }),
      tool({
        name: 'read_notepad',
        description: 'Read the newest entries of your notepad.',
        parameters: z.object(window),
        read_only: true,
        execute: ({ limit, offset }, { agent_id, result_tokens }) =>
          notepads.read(agent_id, limit, offset, result_tokens),
      }),
      tool({
        name: 'clear_notepad',
        description: 'Remove all entries of your notepad. They cannot be restored.',
        parameters: z.object({}),
        idempotent: true,
        hidden: true,
        danger: 'deletes all entries of the notepad',
        async execute(_, { agent_id }) {
          await notepads.clear(agent_id)
          return 'The notepad is empty now.'
        },
      }),
      tool({
        name: 'read_agent_notepad',
        description: "Read the newest entries of another agent's notepad, where the operator allows it.",
        parameters: z.object({ agent_id: z.string().min(1).max(128).describe('Id or name of the agent'), ...window }),
        read_only: true,
        hidden: true,
        async execute({ agent_id: named, limit, offset }, call) {
          if (named === call.agent_id) return notepads.read(named, limit, offset, call.result_tokens)
          if (!config.notepad_shared) {
            throw new NotepadError({
              message:
                "You cannot read other agents' notepads (tools.notepad_shared is off); read your own with read_notepad.",
            })
          }
          return notepads.read(await idOf(svc, named), limit, offset, call.result_tokens)
        },
      }),
    ],
  }
}

/** Returns the id of an existing agent. @throws NotepadError */
async function idOf(svc: PluginHandle, name: string): Promise<string> {
  const agent = await svc
    .use(Agents)
    .find(name)
    .catch((error: unknown) => {
      if (error instanceof AgentNotFoundError) return undefined
      throw error
    })
  if (agent) return agent.agent_id
  throw new NotepadError({ message: `There is no agent ${JSON.stringify(name)}; give the id or the name of one.` })
}
