import { type Client, createClient } from '../../builtins/interfaces/rest/client.ts'
import { access, headerOf, onAccess } from './access.ts'
import { timedFetch } from './clock.ts'

/** REST API with this tab's key and tenant. It is the same client that programs use. */
export let api: Client = makeClient()
onAccess(() => {
  api = makeClient()
})

function makeClient(): Client {
  const { key, tenant } = access()
  return createClient({
    baseUrl: location.origin,
    fetch: timedFetch,
    ...(key ? { apiKey: headerOf(key) } : {}),
    ...(tenant ? { user: tenant } : {}),
  })
}

/** Error with the message of the server or of the connection. */
export interface Fault {
  message: string
  code: string
  status: number
  errors: readonly { path: string; message: string }[]
}

/** Returns whether an error is only the end of a failed task, which the list of tasks shows. */
export function isTaskFailure(error: unknown): boolean {
  return Object.hasOwn(Object((error as Error | undefined)?.cause), 'task')
}

export function faultOf(error: unknown): Fault {
  const { message = String(error), code = 'failed', status = 0, errors = [] } = (error ?? {}) as Partial<Fault>
  return { message, code, status, errors }
}
