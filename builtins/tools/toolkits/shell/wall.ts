import { type PluginHandle, sentenceOf } from '#kernel'
import { Sandbox } from '#safety/sandbox/contract'

/** Says at start what stands between agents' programs and the machine. Nobody waits for it to come up. */
export function logSandbox(svc: PluginHandle): () => Promise<void> {
  const logged = svc
    .use(Sandbox)
    .status()
    .then(({ wall, reason }) => {
      if (wall !== 'none') svc.log.info({}, `programs of agents run in a sandbox: ${reason}`)
      else svc.log.warn({}, `programs of agents run with your rights, without a sandbox: ${reason}`)
    })
    .catch(error => svc.log.error({}, sentenceOf(error)))
  return () => logged
}
