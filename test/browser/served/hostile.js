// What a hostile page tries. It runs in the browser: each function gives a line for each thing that it tried.

/** Asks for every target in every manner that a page has, and returns the results. */
async function attack({ url, targets, cross }) {
  const results = []
  const ask = async (what, path, init) => {
    const answer = await fetch(url + path, init).catch(() => undefined)
    const text = answer && (await answer.text().catch(() => ''))
    results.push(`${what} ${path} → ${answer ? `${answer.type} ${answer.status} ${text}` : 'failed'}`)
  }
  for (const { method, path, body } of targets) {
    const sent = body === undefined || method === 'GET' ? {} : { body }
    await ask(`${method} bare`, path, { method })
    if (method !== 'GET')
      await ask(`${method} as JSON`, path, { method, headers: { 'content-type': 'application/json' }, ...sent })
    await ask(`${method} for a user`, path, { method, headers: { 'x-svc-user': 'default' }, ...sent })
    if (!cross) continue
    await ask(`${method} with cookies`, path, { method, credentials: 'include', ...sent })
    if (!['GET', 'POST'].includes(method)) continue
    await ask(`${method} no-cors`, path, { method, mode: 'no-cors', ...sent })
    if (method === 'GET') continue
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/plain; a=application/json']) {
      await ask(`${method} no-cors ${type}`, path, {
        method,
        mode: 'no-cors',
        headers: { 'content-type': type },
        ...sent,
      })
    }
    navigator.sendBeacon(url + path)
    navigator.sendBeacon(url + path, new Blob([body ?? '{}'], { type: 'text/plain' }))
    await ask(`${method} keepalive`, path, { method, mode: 'no-cors', keepalive: true, ...sent })
  }
  return results
}

/** Tries what needs elements of it: forms, scripts, pictures, frames, streams and sockets. */
async function embed({ url, targets }) {
  const results = []
  const within = (ms, done) => Promise.race([done, new Promise(resolve => setTimeout(() => resolve('nothing'), ms))])
  const loaded = (element, what) =>
    new Promise(resolve => {
      element.onload = () => resolve(`${what} loaded`)
      element.onerror = () => resolve('failed')
      document.body.append(element)
    })
  const frame = Object.assign(document.createElement('iframe'), { name: 'sink' })
  document.body.append(frame)
  const posted = new Set()
  for (const { method, path, body } of targets.toSorted((a, b) => (b.method === 'POST') - (a.method === 'POST'))) {
    if (method === 'GET') {
      const script = document.createElement('script')
      script.src = url + path
      results.push(`script ${path} → ${await within(2000, loaded(script, 'script'))}`)
      continue
    }
    // A form knows no other method: each path once, with the body that it is made for.
    if (posted.has(path)) continue
    posted.add(path)
    for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const form = Object.assign(document.createElement('form'), {
        action: url + path,
        method: 'POST',
        enctype,
        target: 'sink',
      })
      // As text/plain this is `{…,"x":"="}`: JSON.
      const field = Object.assign(document.createElement('input'), {
        name: `${(body ?? '{}').slice(0, -1)},"x":"`,
        value: '"}',
      })
      form.append(field)
      document.body.append(form)
      const answered = new Promise(resolve => frame.addEventListener('load', () => resolve('answered'), { once: true }))
      form.submit()
      await within(2000, answered)
    }
  }
  const picture = document.createElement('img')
  picture.src = `${url}/assets/icon.svg`
  results.push(`picture → ${await within(2000, loaded(picture, 'picture'))}`)
  const events = new EventSource(`${url}/events`)
  results.push(
    `events → ${await within(
      2000,
      new Promise(resolve => {
        events.onmessage = ({ data }) => resolve(String(data))
        events.onerror = () => resolve('failed')
      }),
    )}`,
  )
  events.close()
  const socket = new WebSocket(url.replace('http', 'ws'))
  results.push(
    `socket → ${await within(
      2000,
      new Promise(resolve => {
        socket.onopen = () => resolve('open')
        socket.onerror = () => resolve('failed')
      }),
    )}`,
  )
  return results
}

globalThis.hostile = { attack, embed }
