import { type PluginHandle, type Toolkit, tool, z } from '#kernel'
import { type CheckpointChange, Checkpoints } from '../../checkpoints/contract.ts'
import { lineOf } from '../../memory/contract.ts'

/** Lines of an answer, and characters of a value in one. */
const SHOWN = 20
const LONGEST = 160

/** An agent's own checkpoints. To bring it back to one is the operator's business: it would undo the very cycle that asks. */
export function checkpointToolkit(svc: PluginHandle): Toolkit {
  const checkpoints = () => svc.use(Checkpoints)
  return {
    name: 'checkpoint',
    tools: [
      tool({
        name: 'save_checkpoint',
        description: 'Keep yourself as you stand now: goals, identity, how you feel, your place in the world.',
        parameters: z.object({ label: z.string().trim().min(1).max(200).describe('What for, in a few words') }),
        async execute({ label }, { agent_id }) {
          const id = await checkpoints().save(agent_id, label)
          return `Kept as ${id}. The operator can bring you back to it.`
        },
      }),
      tool({
        name: 'list_checkpoints',
        description: 'List your checkpoints, the newest first.',
        parameters: z.object({}),
        idempotent: true,
        async execute(_, { agent_id }) {
          const found = await checkpoints().list(agent_id)
          if (found.length === 0) return 'There are none; save_checkpoint makes one.'
          const lines = found.map(
            ({ checkpoint_id, created_at, label }) => `- ${checkpoint_id}  ${created_at}  ${label}`,
          )
          return listed(lines)
        },
      }),
      tool({
        name: 'compare_checkpoint',
        description: 'See what has changed in you since a checkpoint.',
        parameters: z.object({
          checkpoint_id: z.string().min(1).max(128).default('latest').describe('Its id, or latest'),
        }),
        idempotent: true,
        async execute({ checkpoint_id }, { agent_id }) {
          const then = await checkpoints().get(agent_id, checkpoint_id)
          const changes = checkpoints().diff(then, await checkpoints().now(agent_id))
          if (changes.length === 0) return `Nothing has changed since ${then.created_at}.`
          return [`Since ${then.created_at} (${then.label}):`, listed(changes.map(told))].join('\n')
        },
      }),
    ],
  }
}

function told({ op, path, value, was }: CheckpointChange): string {
  const said = (each: unknown) => lineOf(JSON.stringify(each) ?? 'nothing', LONGEST)
  if (op === 'add') return `- ${path}: ${said(value)}, new`
  return op === 'remove' ? `- ${path}: gone, was ${said(was)}` : `- ${path}: ${said(value)}, was ${said(was)}`
}

function listed(lines: readonly string[]): string {
  const more = lines.length > SHOWN ? [`[and ${lines.length - SHOWN} more]`] : []
  return [...lines.slice(0, SHOWN), ...more].join('\n')
}
