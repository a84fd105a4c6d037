import { errorMessage, type PluginHandle } from '#kernel'
import { Sandbox } from '#safety/sandbox/contract'

/** Logs at start how agents' programs are isolated. Start-up does not wait for it. */
export function logSandbox(svc: PluginHandle): () => Promise<void> {
  const logged = svc
    .use(Sandbox)
    .status()
    .then(({ wall, reason }) => {
      if (wall !== 'none') svc.log.info({}, `programs of agents run in a sandbox: ${reason}`)
      else svc.log.warn({}, `programs of agents run with your rights, without a sandbox: ${reason}`)
    })
    .catch(error => svc.log.error({}, errorMessage(error)))
  return () => logged
}
