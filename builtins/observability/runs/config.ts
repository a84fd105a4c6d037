import { join, resolve } from 'node:path'
import { type PluginHandle, z } from '#kernel'

/** The configuration that the module reads. */
export interface RunsConfig {
  /** Folder that contains a folder for each run. */
  readonly folder: string
  /** Size after which a log continues in a new file, in bytes. */
  readonly rotateAt: number
}

const Top = z.object({
  logs_dir: z
    .string()
    .min(1)
    .max(4096)
    .regex(/^[^\0]*$/, 'must not contain a NUL character')
    .default('logs')
    .meta({ env: 'SVC_LOGS_DIR' })
    .describe("Folder for run logs, relative to the project's folder"),
})

export const RunsSection = z.object({
  rotate_mb: z
    .number()
    .positive()
    .max(1024)
    .default(16)
    .describe("Size in megabytes at which a run's log continues in a new file"),
})

export function runsConfig(svc: PluginHandle, section: z.output<typeof RunsSection>): RunsConfig {
  const top = svc.section('', Top)
  return {
    get folder() {
      return join(resolve(svc.project.root, top.logs_dir), 'runs')
    },
    get rotateAt() {
      return section.rotate_mb * 1024 * 1024
    },
  }
}
