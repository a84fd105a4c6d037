import type { Effect } from '#kernel'
import { Store } from '#platform/store/contract'
import { type ToolCall, Toolkits } from '#tools/toolkits/contract'
import type { TestHost } from '../support/index.ts'

let calls = 0

/**
 * Calls a tool as the agent loop does: its arguments pass its schema, its writes are committed with its outcome, and an
 * error is returned as the model would read it.
 */
export async function use(
  { kernel }: Pick<TestHost, 'kernel'>,
  name: string,
  args: Record<string, unknown> = {},
  more: Partial<ToolCall> = {},
): Promise<string> {
  const found = kernel
    .list(Toolkits)
    .flatMap(({ tools }) => tools)
    .find(tool => tool.name === name)
  if (!found) throw new Error(`there is no tool ${name}`)
  const { call_id = `call-${++calls}` } = more
  const effects: Effect[] = []
  try {
    const result = await found.execute((await found.parameters.parseAsync(args)) as never, {
      call_id,
      agent_id: 'worker-1',
      goal_id: null,
      cycle_num: 1,
      signal: new AbortController().signal,
      workspace: '/nowhere',
      idempotency_key: call_id,
      effect: effect => void effects.push(effect),
      ...more,
    })
    if (effects.length > 0 && !(await kernel.use(Store).apply(effects))) return 'refused'
    return String(result)
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}
