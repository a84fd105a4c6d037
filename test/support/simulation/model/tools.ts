import { type Clock, z } from '#kernel'
import { type Tool, type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'
import type { Dice } from '../dice.ts'
import type { FaultInjector } from '../fault-injector.ts'

export interface ToolParts {
  clock: Clock
  dice: Dice
  injector: FaultInjector
  alive(): boolean
  /** Called when a tool begins to run, from when on it may have taken effect outside. */
  onBegun(tool: Tool, args: unknown, call: ToolCall): void
}

const note = z.object({ text: z.string().max(200), amount: z.number().int().min(0).max(9).optional() })

/** Returns a toolkit whose effects the simulation counts. */
export function simulatedToolkit(): Toolkit {
  const plain = (name: string, description: string, more: Partial<Tool> = {}) =>
    tool({ name, description, parameters: note, execute: ({ text }) => `${name}: ${text}`, ...more })
  return {
    name: 'simulated',
    everyday: true,
    tools: [
      plain('sim_look', 'Looks at something. Changes nothing.', { idempotent: true }),
      plain('sim_send', 'Sends something away. It cannot be taken back.'),
      plain('sim_pay', 'Pays for something.', { requires_approval: true }),
      plain('sim_erase', 'Erases something.', { danger: 'erases what cannot be had again' }),
    ],
  }
}

/** Unexpected values that a tool may return. */
const GARBAGE: readonly (() => unknown)[] = [
  () => undefined,
  () => 10n,
  () => ({ deep: { er: [1, null, Number.NaN] } }),
  () => 'x'.repeat(30_000),
  () => '\u0000\u001b[31m<script>',
  () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    return circle
  },
]

/** One promise for each caller: a shared one would keep all of its waiters in memory. */
const never = () => new Promise<never>(() => {})

/** Adds random faults to a tool: it takes its time, fails, hangs until its limit, or returns garbage. */
export function withFaults(original: Tool['execute'], of: Tool, { clock, dice, injector, alive, onBegun }: ToolParts) {
  return async (args: unknown, call: ToolCall): Promise<unknown> => {
    if (!alive()) return never()
    onBegun(of, args, call)
    if (!alive()) return never()
    if (dice.chance(0.4)) await clock.sleep(dice.int(1, 700), call.signal)
    if (injector.injects('tool_fails', 0.04)) throw new Error(dice.pick(['it broke', 'no such thing', '']))
    // Some tools ignore the abort signal.
    if (injector.injects('tool_hangs', 0.01)) await (dice.chance(0.5) ? clock.sleep(1e9, call.signal) : never())
    const result = await original(args as never, call)
    return injector.injects('tool_answers_garbage', 0.02) ? dice.pick(GARBAGE)() : result
  }
}
