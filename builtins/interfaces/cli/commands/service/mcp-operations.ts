import { join } from 'node:path'
import { type Kernel, type Operation, operation, z } from '#kernel'
import { HeartbeatConfig } from '#platform/heartbeat/contract'
import type { Context, HandWritten } from '../../context.ts'
import { presetsOf, spawnMissing } from '../../process/announce.ts'
import type { Terminal } from '../../screen/terminal.ts'
import init from '../project/init.ts'
import start from './start.ts'
import { inWords, stopDaemons } from './stop.ts'

/** Operations on the project and its processes, for callers that may start programs in its folder. */
export function processOperations(root: string, context: Context, kernel: Kernel): Operation[] {
  const at = { ...context, named: root }
  return [
    initOperation(root, context),
    operation({
      name: 'svc.start',
      summary: 'Start the daemon',
      description:
        'The daemon runs in a separate process, also after this session, until svc_stop. If a daemon already runs, it is left unchanged, and agents of the presets are spawned.',
      input: z.strictObject({
        profiles: z
          .string()
          .max(1000)
          .default('coder')
          .describe('Presets to spawn agents from: a,b; empty for none; those with a live agent are skipped'),
        heartbeat: HeartbeatConfig.shape.heartbeat
          .unwrap()
          .optional()
          .describe("Seconds between an agent's cycles; written to .svc/config.yaml"),
      }),
      output: z.string(),
      async run({ profiles, heartbeat }) {
        if (heartbeat !== undefined) {
          await kernel.config.patch({ daemon: { heartbeat } })
          // This process has no heartbeat that would reload the configuration.
          await kernel.config.reload()
        }
        const found = await context.program.findDaemon(context.ports, join(root, '.svc'))
        if (!found?.alive) return outputOf(start, { profiles, detach: true }, at)
        await spawnMissing(kernel, presetsOf(profiles))
        return `The daemon is already running, with PID ${found.holder.pid}.`
      },
    }),
    operation({
      name: 'svc.stop',
      summary: 'Stop the daemon and all daemons that joined it',
      input: z.strictObject({
        timeout: z.number().min(0).max(86_400).default(30).describe('Seconds to wait before the daemon is killed'),
      }),
      output: z.string(),
      run: async ({ timeout }) => inWords(await stopDaemons(root, timeout, context), timeout),
    }),
  ]
}

/**
 * Operation that creates the project.
 * @param made called and awaited after the project is created
 */
export function initOperation(root: string, context: Context, made = async () => {}): Operation {
  return operation({
    name: 'svc.init',
    summary: `Create a project in ${root}`,
    description:
      'Creates the missing parts of the project, and adds .svc/ and logs/ to .gitignore. Other existing files stay unchanged.',
    input: z.strictObject({}),
    output: z.string(),
    async run() {
      const text = await outputOf(init, {}, { ...context, named: root })
      await made()
      return text
    },
  })
}

/** Returns a command's output as text. */
async function outputOf(
  command: HandWritten,
  input: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<string> {
  const lines: string[] = []
  const out = (text: string) => void lines.push(text)
  const terminal = Object.assign(Object.create(context.terminal) as Terminal, { out })
  await command(input, { ...context, terminal })
  return lines.join('\n')
}
