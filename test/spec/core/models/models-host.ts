import { onTestFinished } from 'vitest'
import { type CallPurpose, type ModelAnswer, type ModelCall, ModelError, Models } from '#core/models/contract'
import models from '#core/models/index'
import {
  type ModelServer,
  type ModelServerOptions,
  modelServer,
  type Reply,
  type Script,
} from '../../../support/model/model-server.ts'
import { type TestHost, type TestHostOptions, testHost } from '../../../support/test-host.ts'

/** Settings without waiting between attempts or for the simulated model. */
export const QUICK = {
  daemon: { max_retries: 2 },
  model: { idle_timeout: 10, total_timeout: 20, retry_delay: 0, retry_cap: 0.05, sim_delay: 0 },
}

/** The same settings, with short limits for a stalled stream. */
export const IMPATIENT = { ...QUICK, model: { ...QUICK.model, idle_timeout: 0.5, first_byte_timeout: 0.5 } }

// Loads the package once, so that the first call's time limits measure the server alone.
await import('openai')

export const PURPOSE: CallPurpose = { agent_id: 'coder-1', goal_id: null, cycle_num: 1, kind: 'goal_pursuit' }

export interface ModelTestHost {
  host: TestHost
  server: ModelServer
  models: Models
  /** Calls the scripted model, or the given one. */
  call(call?: Partial<ModelCall>): Promise<ModelAnswer>
  /** Returns the error that a call ends with. */
  failing(call?: Partial<ModelCall>): Promise<ModelError>
}

/**
 * Opens a test host with the models module and a scripted model server at `OPENAI_BASE_URL`; both close with the test.
 */
export async function testHostForModels(
  script?: Script | readonly Reply[],
  options: TestHostOptions = {},
  serving: ModelServerOptions = {},
): Promise<ModelTestHost> {
  const server = await modelServer({ ...serving, ...(script ? { script } : {}) })
  onTestFinished(() => server.close())
  const opened = await testHost({
    builtins: [models],
    clock: 'system',
    roles: ['cli'],
    config: QUICK,
    ...options,
    env: { OPENAI_BASE_URL: server.url, ...options.env },
  })
  onTestFinished(() => opened.close())
  const service = opened.kernel.use(Models)
  const call = (given: Partial<ModelCall> = {}) =>
    service.call({
      model: 'openai:scripted-1',
      messages: [{ role: 'user', content: 'Goal: say something' }],
      tools: [],
      temperature: 0,
      max_tokens: 1000,
      purpose: PURPOSE,
      signal: new AbortController().signal,
      ...given,
    })
  const failing = (given?: Partial<ModelCall>) =>
    call(given).then(
      answer => {
        throw new Error(`the call was answered: ${answer.text}`)
      },
      error => {
        if (error instanceof ModelError) return error
        throw error
      },
    )
  return { host: opened, server, models: service, call, failing }
}
