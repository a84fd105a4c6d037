import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Line } from './cable.ts'
import { type HeldLease, LEASE_S, type Machine, Machines, post, seqsFrom, took } from './machines.ts'
import { lineTo } from './namespace.ts'

const PRESETS = 'coder,writer,tester,reviewer,researcher,philosopher,gambler,oracle'
/** Tolerance for a busy machine, beyond the promised time. */
const SLACK_MS = 6_000

const machines = await Machines.open().catch(error => {
  console.warn(`PostgreSQL is left out: ${error.message}`)
  return undefined
})

describe.skipIf(!machines)('three daemons and two servers on one database', () => {
  const open = machines!
  let daemons: Machine[]
  let servers: Machine[]
  /** Connection of the last daemon to the database. */
  let line: Line

  beforeAll(async () => {
    line = await lineTo(open.url)
    const first = await open.start('serve', '--with-daemon', '--port', '0', '--profiles', PRESETS)
    const [second, third, server] = await Promise.all([
      open.start('start'),
      open.startWith({ line }, 'start'),
      open.start('serve', '--port', '0'),
    ])
    daemons = [first, second, third]
    servers = [first, server]
  })
  afterAll(async () => {
    await machines?.[Symbol.asyncDispose]()
    line?.close()
  })

  const cycles = () => open.number("SELECT count(*) FROM events WHERE type = 'cycle_done'")
  const owners = () =>
    open.rows<{ owner: string }>(
      "SELECT DISTINCT split_part(owner, ':', 2) AS owner FROM leases WHERE owner IS NOT NULL",
    )
  const waitForLease = (machine: Machine) =>
    took('it holds agents', async () => (await open.heldBy(machine)).length > 0)
  /** Stops a process while it drives agents. @returns the leases that it holds then */
  const stopInCycle = async (machine: Machine) => {
    for (;;) {
      await waitForLease(machine)
      machine.svc.process.kill('SIGSTOP')
      const held = await open.heldBy(machine)
      if (held.length > 0) return held
      machine.svc.process.kill('SIGCONT')
    }
  }
  /** Waits until others have taken over these leases. @returns the time that took, in milliseconds */
  const waitForTakeover = (held: readonly HeldLease[]) =>
    took('others drive them', async () => {
      const rows = await open.rows<HeldLease>('SELECT id, epoch::int FROM leases')
      return held.every(({ id, epoch }) => rows.some(row => row.id === id && row.epoch > epoch))
    })
  /** Counts cycles that were committed more than once, as when two nodes drive an agent at once. */
  const doubles = () =>
    open.number(`SELECT count(*) FROM (SELECT agent_id, cycle_num FROM events WHERE type = 'cycle_done'
      GROUP BY agent_id, cycle_num HAVING count(*) > 1) d`)

  it('share the agents, and list all daemons as nodes of the cluster', async () => {
    const seen = new Set<string>()
    await took('all three drive agents', async () => {
      for (const { owner } of await owners()) seen.add(owner)
      return seen.size >= 3
    })
    const cluster = async () =>
      (await (await fetch(`${servers[1]!.url}/cluster`)).json()) as {
        nodes: { pid: number; state: string }[]
        warnings: string[]
      }
    // A busy machine may report late that it is alive.
    await took('no one is silent', async () => (await cluster()).warnings.length === 0)
    const { nodes } = await cluster()
    expect(nodes.map(({ pid }) => pid).sort()).toEqual(daemons.map(({ svc }) => svc.pid).sort())
  })

  it('show at one server what was changed at the other', async () => {
    const { agent_id } = (await open.rows<{ agent_id: string }>('SELECT agent_id FROM agents LIMIT 1'))[0]!
    await post(servers[1]!, `/agents/${agent_id}/pause`)
    const detail = (await (await fetch(`${servers[0]!.url}/agents/${agent_id}`)).json()) as { status: string }
    expect(detail.status).toBe('paused')
    await post(servers[0]!, `/agents/${agent_id}/resume`)
  })

  it('continue an event stream at the other server after a disconnect', async () => {
    const [one, other] = [servers[0]!, servers[1]!]
    const first = await seqsFrom(one, 0, 30)
    const seen = [...first, ...(await seqsFrom(other, first.at(-1)!, 30))]
    seen.push(...(await seqsFrom(one, seen.at(-1)!, 30)))
    const rows = await open.rows<{ seq: string }>('SELECT seq FROM events ORDER BY seq LIMIT 90')
    expect(seen).toEqual(rows.map(({ seq }) => Number(seq)))
  })

  it('take over the agents of a killed node within its lease and two seconds', async () => {
    const victim = daemons[1]!
    const left = await stopInCycle(victim)
    await victim.svc.end('SIGKILL')
    const ms = await waitForTakeover(left)
    expect(ms).toBeLessThan(LEASE_S * 1000 + 2_000 + SLACK_MS)
    expect(await doubles()).toBe(0)
    // The possible cost of its calls is booked by then, and blocks no further spending.
    const slices = `SELECT count(*) FROM budget_reservations WHERE owner LIKE 'holder-${victim.svc.pid}-%'`
    await took('nothing is held for it', async () => (await open.number(slices)) === 0)
  })

  it('run no cycle twice when a node freezes past its lease and wakes', async () => {
    const victim = daemons[2]!
    const held = await stopInCycle(victim)
    try {
      await waitForTakeover(held)
    } finally {
      victim.svc.process.kill('SIGCONT')
    }
    await waitForLease(victim)
    expect(await doubles()).toBe(0)
  })

  it('run no cycle twice when the network of a node is cut during its cycles, and the node comes back by itself', async () => {
    const victim = daemons[2]!
    const held = await stopInCycle(victim)
    line.cut()
    victim.svc.process.kill('SIGCONT')
    const ms = await waitForTakeover(held)
    const since = await open.number('SELECT max(seq) FROM events')
    line.mend()
    await waitForLease(victim)
    expect(ms).toBeLessThan(LEASE_S * 1000 + 2_000 + SLACK_MS)
    const late = held.map(({ id, cycle_num }) => `(agent_id = '${id}' AND cycle_num = ${cycle_num})`).join(' OR ')
    expect(await open.rows(`SELECT * FROM events WHERE type = 'cycle_done' AND seq > ${since} AND (${late})`)).toEqual(
      [],
    )
    expect(await doubles()).toBe(0)
  })

  it('go on when the database comes back from a crash, with everything that was acknowledged', async () => {
    const agents = await open.rows<{ agent_id: string }>('SELECT agent_id FROM agents')
    const acknowledged: string[] = []
    let writing = true
    const writer = (async () => {
      for (let n = 0; writing; n++) {
        const { agent_id } = agents[n % agents.length]!
        const answer = await post(servers[n % 2]!, `/agents/${agent_id}/nudge`, { message: `note ${n}` }).catch(
          () => ({}),
        )
        if ('nudge_id' in answer) acknowledged.push(String(answer.nudge_id))
      }
    })()
    await took('some are written', async () => acknowledged.length > 10)
    await open.server.kill()
    await open.server.start()
    const before = await cycles()
    const ms = await took('cycles are committed again', async () => (await cycles()) > before)
    writing = false
    await writer
    expect(ms).toBeLessThan(3_000 + SLACK_MS)
    const stored = new Set(
      (await open.rows<{ nudge_id: string }>('SELECT nudge_id FROM nudges')).map(({ nudge_id }) => nudge_id),
    )
    expect(acknowledged.filter(id => !stored.has(id))).toEqual([])
    expect(await doubles()).toBe(0)
  })

  it('leave a budget that adds up, and no leases, when they are stopped', async () => {
    for (const { svc } of [daemons[0]!, daemons[2]!, servers[1]!]) expect(await svc.end('SIGTERM')).toBe(0)
    expect(await open.rows('SELECT owner FROM leases WHERE owner IS NOT NULL AND run_at < 9e15')).toEqual([])
    const sums = `SELECT spent_micros - (SELECT coalesce(sum(cost_micros), 0) FROM spend WHERE spend.budget_window = budget.budget_window)
      + spent_tokens - (SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM spend WHERE spend.budget_window = budget.budget_window) FROM budget`
    expect(await open.number(sums)).toBe(0)
    expect(await open.rows(`SELECT host FROM svc_nodes WHERE pid <> ${daemons[1]!.svc.pid}`)).toEqual([])
  })
})
