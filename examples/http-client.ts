// An HTTP client: everything that people can do is a route, described by GET /openapi.json. Nothing of svc is imported.
// Run it beside `svc serve --with-daemon` with: npx tsx http-client.ts http://127.0.0.1:8000
const [base = 'http://127.0.0.1:8000'] = process.argv.slice(2)

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(base + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(process.env.SVC_API_KEY ? { 'x-svc-key': process.env.SVC_API_KEY } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  // Errors are problem documents (RFC 9457): `detail` is the sentence for people, `code` the name for programs.
  if (!answer.ok) throw new Error(`${method} ${path}: ${(JSON.parse(text) as { detail: string }).detail}`)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

interface Agent {
  agent_id: string
  name: string
  status: string
}

const spawned = await ask<Agent>('POST', '/agents', { preset: 'writer' })
console.log(`spawned ${spawned.agent_id}`)
await ask('POST', `/agents/${spawned.agent_id}/nudge`, { message: 'Write about the sea.' })
for (const { name, status } of await ask<Agent[]>('GET', '/agents')) console.log(`${name}: ${status}`)

try {
  await ask('GET', '/agents/nobody')
} catch (error) {
  console.log((error as Error).message)
}

export {}
