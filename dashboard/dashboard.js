// All text that comes from the server is set as text, never as markup: agents write much of it.

const POLL_MS = 2_000
/** The default model changes rarely, and asking for it may reach out to providers. */
const MODELS_MS = 30_000
const GOALS_SHOWN = 20

const $ = (selector, within = document) => within.querySelector(selector)
const rows = new Map()
const items = new Map()
/** Answers by path, with the tag that lets the server say 'unchanged'. */
const known = new Map()
let selected = new URLSearchParams(location.hash.slice(1)).get('agent') ?? ''
let modelsAt = Number.NEGATIVE_INFINITY
let defaultModel = 'default'
/** The agent was just chosen, and may lie below what is seen. */
let reveal = false

/** A request in the name of the key and the tenant of this tab. @returns the parsed answer; throws the server's sentence */
async function ask(path, options = {}) {
  const had = options.method ? undefined : known.get(path)
  const headers = { ...access(), ...options.headers, ...(had ? { 'If-None-Match': had.tag } : {}) }
  const answer = await fetch(path, { ...options, headers, cache: 'no-store' }).catch(() => {
    throw new Error('The server does not answer. Trying again…')
  })
  if (answer.status === 304 && had) return had.value
  const value = answer.headers.get('content-type')?.includes('json') ? await answer.json() : undefined
  if (!answer.ok)
    throw Object.assign(new Error(value?.detail ?? `The server answered ${answer.status}.`), { status: answer.status })
  const tag = answer.headers.get('etag')
  if (tag) known.set(path, { tag, value })
  return value
}

function access() {
  const key = sessionStorage.getItem('key')
  const tenant = sessionStorage.getItem('tenant')
  return { ...(key ? { 'X-Svc-Key': utf8(key) } : {}), ...(tenant ? { 'X-Svc-User': tenant } : {}) }
}

// A header takes bytes as characters.
const utf8 = text => String.fromCharCode(...new TextEncoder().encode(text))

// Following what happens

let timer = 0
let polling = false
let again = false

/** Asks for everything that is shown, then waits; a hidden tab asks for nothing. */
async function poll() {
  clearTimeout(timer)
  if (document.hidden) return
  if (polling) {
    again = true
    return
  }
  polling = true
  try {
    await refresh()
    show('#trouble', '')
  } catch (error) {
    show('#trouble', error.message)
    if (error.status === 401) $('#access').open = true
    if (error.status === 401 || error.status === undefined) show('#summary', 'Not connected')
  }
  polling = false
  timer = setTimeout(poll, again ? 0 : POLL_MS)
  again = false
}

async function refresh() {
  const agents = await ask('/agents')
  if (performance.now() - modelsAt > MODELS_MS) {
    showModels(await ask('/models').catch(() => undefined))
    modelsAt = performance.now()
  }
  showAgents(agents)
  const here = agents.some(({ agent_id }) => agent_id === selected)
  $('#agent').hidden = !here
  if (!here) return
  const at = `/agents/${encodeURIComponent(selected)}`
  const [agent, goals] = await Promise.all([ask(at), ask(`${at}/history?limit=${GOALS_SHOWN}`)])
  if (agent.agent_id !== selected) return
  showAgent(agent, goals)
  if (reveal) $('#agent > header').scrollIntoView({ block: 'nearest' })
  reveal = false
}

// Showing it

/** What agents without a model of their own use, and what must be said of it. */
function showModels(models) {
  defaultModel = models?.default?.model ?? 'default'
  const notice = models?.default?.notice
  show('#notice', notice ? `${defaultModel}: ${notice}` : (models?.error ?? ''))
}

function showAgents(agents) {
  const working = agents.filter(({ status }) => status === 'working').length
  const waiting = agents.filter(({ status }) => status.startsWith('waiting')).length
  const parts = [count(agents.length, 'agent'), `${working} working`, ...(waiting ? [`${waiting} waiting`] : [])]
  show('#summary', parts.join(' · '))
  document.title = working ? `(${working}) svc` : 'svc'
  $('#agents .empty').hidden = agents.length > 0
  $('#agents table').hidden = agents.length === 0
  keep(rows, $('#agents tbody'), '#agent-row', agents, 'agent_id', (row, agent) => {
    fill(row, { ...agent, status: label(agent.status), model: agent.model || defaultModel, goal: agent.goal ?? '' })
    $('.status', row).dataset.status = agent.status
    const button = $('button', row)
    button.dataset.agent = agent.agent_id
    button.setAttribute('aria-current', String(agent.agent_id === selected))
  })
}

function showAgent(agent, goals) {
  const box = $('#agent')
  fill(box, {
    ...agent,
    status: label(agent.status),
    model: agent.model || defaultModel,
    spent: `$${agent.cost_usd.toFixed(agent.cost_usd < 1 ? 4 : 2)} · ${count(agent.tokens, 'token')}`,
    last_active: ago(agent.last_active),
    next_run_at: agent.status === 'paused' || agent.status === 'dead' ? '' : ago(agent.next_run_at),
  })
  $('.status', box).dataset.status = agent.status
  $('.trouble', box).hidden = !agent.error
  $('#pause').textContent = agent.status === 'paused' ? 'Resume' : 'Pause'
  for (const button of box.querySelectorAll('.actions button')) button.disabled = agent.status === 'dead'
  $('.empty', box).hidden = goals.length > 0
  keep(items, $('#goals'), '#goal-item', goals, 'goal_id', (item, goal) => {
    const state = goal.unconfirmed ? `${goal.status}, unconfirmed` : goal.status
    const when = goal.completed_at ?? goal.created_at
    fill(item, { ...goal, state, steps: count(goal.steps_completed, 'step'), when: ago(when) })
    item.dataset.status = goal.status
    $('time', item).dateTime = when
    const result = $('.result', item)
    if (!item.classList.contains('whole')) $('.more', item).hidden = result.scrollHeight <= result.clientHeight
  })
}

/** Keeps one element for each thing, in order, so that focus and selection outlive a refresh. */
function keep(elements, parent, template, things, key, update) {
  const ids = new Set(things.map(thing => thing[key]))
  for (const [id, element] of elements) {
    if (ids.has(id)) continue
    element.remove()
    elements.delete(id)
  }
  things.forEach((thing, at) => {
    let element = elements.get(thing[key])
    if (!element) {
      element = $(template).content.firstElementChild.cloneNode(true)
      elements.set(thing[key], element)
    }
    if (parent.children[at] !== element) parent.insertBefore(element, parent.children[at] ?? null)
    update(element, thing)
  })
}

/** Sets the text of each `data-field` that `values` has. */
function fill(element, values) {
  for (const field of element.querySelectorAll('[data-field]')) {
    const text = String(values[field.dataset.field] ?? '')
    if (field.textContent !== text) field.textContent = text
  }
}

/** A line that is there only when it says something. */
function show(selector, text) {
  const element = $(selector)
  if (element.textContent !== text) element.textContent = text
  element.hidden = text === ''
}

const label = status => status.replaceAll('_', ' ')
const count = (n, noun) => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`
const UNITS = Object.entries({ day: 86_400, hour: 3600, minute: 60 })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** `3 minutes ago`, `in 8 seconds`; nothing for no time. */
function ago(iso) {
  if (!iso) return ''
  const seconds = Math.round((Date.parse(iso) - Date.now()) / 1000)
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit)
  }
  return relative.format(seconds, 'second')
}

// Steering

/** Does something to the selected agent and says how it went. */
async function steer(verb, body) {
  const json = body ? { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) } : {}
  try {
    await ask(`/agents/${encodeURIComponent(selected)}/${verb}`, { method: 'POST', ...json })
    show('#outcome', { pause: 'Paused.', resume: 'Resumed.', nudge: 'Told.' }[verb])
    return true
  } catch (error) {
    show('#outcome', error.message)
    return false
  } finally {
    poll()
  }
}

function select(agent) {
  if (agent === selected) return
  selected = agent
  history.replaceState(null, '', agent ? `#${new URLSearchParams({ agent })}` : location.pathname)
  for (const [id, row] of rows) $('button', row).setAttribute('aria-current', String(id === agent))
  if (!agent) $('#agent').hidden = true
  show('#outcome', '')
}

$('#agents tbody').addEventListener('click', event => {
  const button = event.target.closest('button')
  if (!button) return
  select(button.dataset.agent)
  reveal = true
  poll()
})
$('#goals').addEventListener('click', event => {
  const more = event.target.closest('.more')
  if (!more) return
  const whole = more.closest('li').classList.toggle('whole')
  more.textContent = whole ? 'Less' : 'More'
  more.setAttribute('aria-expanded', String(whole))
})
$('#close').addEventListener('click', () => {
  const row = rows.get(selected)
  select('')
  if (row) $('button', row).focus()
})
$('#pause').addEventListener('click', event => {
  steer(event.target.textContent === 'Resume' ? 'resume' : 'pause')
})
$('#nudge').addEventListener('submit', async event => {
  event.preventDefault()
  const form = event.target
  if (await steer('nudge', { message: new FormData(form).get('message') })) form.reset()
})
$('#access form').addEventListener('submit', event => {
  event.preventDefault()
  const given = new FormData(event.target)
  for (const name of ['key', 'tenant']) sessionStorage.setItem(name, given.get(name).trim())
  $('#access').open = false
  known.clear()
  modelsAt = Number.NEGATIVE_INFINITY
  poll()
})
for (const name of ['key', 'tenant']) $(`#access [name=${name}]`).value = sessionStorage.getItem(name) ?? ''
document.addEventListener('visibilitychange', poll)
poll()
