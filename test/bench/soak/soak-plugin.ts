/** Badly behaved plugin: it throws, hangs, and is rewritten all the time, sometimes with an error. */
export const UNSTEADY = 'unsteady'

/** One in this number of versions cannot be loaded. */
const BAD_EVERY = 4

const isBad = (version: number) => version % BAD_EVERY === 3

export function unsteady(version: number): string {
  if (isBad(version))
    return `import { definePlugin } from 'svc'\nexport default definePlugin({ name: '${UNSTEADY}', setup(svc) {`
  return `
import { definePlugin, tool, z } from 'svc'
const Counts = z.object({ calls: z.number() })
export default definePlugin({
  name: '${UNSTEADY}',
  version: '${version}',
  state: Counts,
  setup(svc) {
    const counts: z.infer<typeof Counts> = svc.previous ?? { calls: 0 }
    svc.handOver(() => counts)
    const dice = (stream: string) => svc.ports.random.number(stream, ++counts.calls, svc.clock.ms())
    svc.on('cycle_end', () => {
      if (dice('cycle_end') < 0.005) throw new Error('not at the end of this cycle')
    })
    svc.guard('goal_pursuit', { shouldProceed: () => dice('guard') > 0.01 })
    svc.toolkit({ name: '${UNSTEADY}', everyday: true, tools: [
      tool({
        name: 'wobble', description: 'Wobbles.', parameters: z.object({ text: z.string() }),
        async execute({ text }, call) {
          const face = dice('wobble')
          if (face < 0.15) throw new Error('it fell over')
          if (face < 0.17) await new Promise(() => {})
          if (face < 0.19) await svc.clock.sleep(60_000, call.signal)
          if (face < 0.25) return text.repeat(2_000)
          await svc.clock.sleep(face * 100)
          return text
        },
      }),
      tool({
        name: 'pay', description: 'Pays.', parameters: z.object({ amount: z.number() }), requires_approval: true,
        execute: ({ amount }) => 'paid ' + amount,
      }),
    ] })
    svc.start(() => svc.clock.after(1e9, () => {}))
  },
})
`
}
