import { mayPluginsAdd } from '#interfaces/plugins-admin/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import { type DoctorFinding, finding } from '#lib/doctor-check'
import type { ConfigCheck } from '#platform/settings/contract'
import { MODELS_FILE, readCatalogue } from './catalogue/models-file.ts'
import { providerIn } from './catalogue/names.ts'
import type { ModelConfig } from './config.ts'
import { ModelNameError, type ModelProblem, ModelProviders, Models } from './contract.ts'
import { isKnownProvider } from './providers/endpoints.ts'

const KEYS = ['model.default_model', 'model.planning_model', 'model.summary_model']

/** Checks that each configured model belongs to a provider that exists, or will exist after a change. */
export function namesCheck(svc: PluginHandle): ConfigCheck {
  return {
    name: 'models',
    forbids: 'change',
    check({ get }) {
      const configured = Object.entries(get('model.providers') as ModelConfig['providers'])
      const known = [
        ...svc
          .contributions(ModelProviders)
          .filter(({ owner, key }) => owner !== svc.name || isFixed(key))
          .map(({ key }) => key),
        ...configured.filter(([name, { base_url }]) => base_url && !isFixed(name)).map(([name]) => name),
      ]
      return KEYS.flatMap(path => {
        const name = String(get(path))
        const provider = providerIn(name)
        const isThere = provider !== undefined && (known.includes(provider) || mayPluginsAdd(svc))
        if (name.trim() === '' || isThere) return []
        return [{ path, message: new ModelNameError({ name: name.slice(0, 100), known }).message.replace(/\.$/, '') }]
      })
    },
  }
}

/** Checks `models.yaml` of the project, which is read before each use. */
export function modelsFileCheck({ ports, project }: PluginHandle): ConfigCheck {
  return {
    name: MODELS_FILE,
    forbids: 'nothing',
    check: () =>
      readCatalogue(ports, project.root).then(
        () => [],
        error => [{ path: MODELS_FILE, message: errorMessage(error) }],
      ),
  }
}

/** Returns whether a provider exists regardless of the configuration. */
function isFixed(name: string): boolean {
  return isKnownProvider(name) || name === 'sim'
}

/** Returns a problem and its remedy as one sentence. */
export function problemSentence({ problem, remedy }: ModelProblem): string {
  return `${problem.charAt(0).toUpperCase()}${problem.slice(1)}; ${remedy}`
}

/** Checks for models in use whose context window is too small for agents, or for the system prompt of one. */
export async function windowsFinding(svc: PluginHandle, prompts: readonly ModelProblem[]): Promise<DoctorFinding> {
  const models = svc.use(Models)
  const found = await Promise.all((await models.inUse()).map(({ model }) => models.findWindowProblem?.(model)))
  const [first, ...others] = [...prompts, ...found.filter(each => each !== null && each !== undefined)]
  if (!first) return finding.ok('no model in use is known to have a small one')
  const more = others.map(({ problem }) => problem)
  return finding.warn([first.problem, ...more].join('; '), first.remedy)
}
