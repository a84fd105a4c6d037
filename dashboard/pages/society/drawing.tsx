import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { go, to } from '../../routes.ts'
import { plural, visible } from '../../ui/text/format.ts'
import { type Link, layout, type Point } from './layout.ts'
import type { Member, Pair } from './pairs.ts'

const WIDE = { width: 960, height: 560, margin: 48 }
const NARROW = { width: 420, height: 460, margin: 40 }
const phone = matchMedia('(max-width: 600px)')
const SMALLEST = 7
const LARGEST = 26
/** Above this number of agents, only the names of the most active are shown; the others appear on focus and hover. */
const MANY = 40
const NAMED = 12
/** Up to this number of agents, each node is large enough to be tapped. */
const FEW = 40
const FINGER = 26
/**
 * Maximum number of letters of a name; then the largest width of a letter, the height of a line, and its distance from
 * the node.
 */
const LETTERS = 24
const LETTER = 8
const LINE = 16
const BELOW = 15

interface DrawingProps {
  agents: readonly Member[]
  pairs: readonly Pair[]
  chosen: string
  onChoose: (key: string) => void
}

/**
 * Graph of messages: a node is an agent, sized by its number of messages; a line is a conversation, coloured by kind.
 */
export function Drawing({ agents, pairs, chosen, onChoose }: DrawingProps) {
  const frame = useFrame()
  const points = useLayout(agents, pairs, frame)
  const [at, setAt] = useState('')
  const [announcement, setAnnouncement] = useState('')
  const drawing = useRef<SVGSVGElement>(null)
  const most = Math.max(1, ...agents.map(total))
  const liveliest = Math.max(1, ...pairs.map(({ messages }) => messages))
  // Limits the share of the picture that all nodes take together, so that the lines stay visible.
  const size = Math.min(1, Math.sqrt(MANY / Math.max(1, agents.length)))
  const radiusOf = (member: Member) => size * (SMALLEST + (LARGEST - SMALLEST) * Math.sqrt(total(member) / most))
  const named = namesOf(agents, points, radiusOf)
  const current = agents.some(({ agent_id }) => agent_id === at) ? at : agents[0]?.agent_id

  const step = (event: KeyboardEvent, n: number) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      drawing.current?.querySelectorAll<SVGElement>('.node')[(n + by + agents.length) % agents.length]?.focus()
      return
    }
    const next = neighbour(pairs, agents[n]!, chosen, by)
    if (!next) return
    onChoose(next.key)
    setAnnouncement(`${visible(next.one.name)} and ${visible(next.other.name)}: ${plural(next.messages, 'message')}`)
  }
  const enter = (agent_id: string) => {
    setAt(agent_id)
    const own = pairs.filter(pair => isOf(pair, agent_id))
    if (own[0] && !own.some(({ key }) => key === chosen)) onChoose(own[0].key)
  }

  return (
    <>
      <p class="unseen" role="status">
        {announcement}
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: there is no element for a group of drawn things. */}
      <svg
        class="graph"
        ref={drawing}
        viewBox={`0 0 ${frame.width} ${frame.height}`}
        role="group"
        aria-label="Messages between agents"
      >
        {pairs.map(pair => {
          const [a, b] = [points.get(pair.one.agent_id), points.get(pair.other.agent_id)]
          if (!a || !b) return null
          const line = { x1: a.x, y1: a.y, x2: b.x, y2: b.y }
          return (
            <g key={pair.key} class={`edge kind-${pair.kind} ${pair.key === chosen ? 'chosen' : ''}`}>
              <line {...line} stroke-width={1 + 6 * Math.sqrt(pair.messages / liveliest)} />
              {/* As wide as a finger. */}
              <line
                {...line}
                class="reach"
                onPointerEnter={() => onChoose(pair.key)}
                onPointerDown={() => onChoose(pair.key)}
              />
            </g>
          )
        })}
        {agents.map((member, n) => {
          const { agent_id, name, alive, sent, received } = member
          const point = points.get(agent_id)
          if (!point) return null
          const radius = radiusOf(member)
          const says = `${visible(name)}: sent ${sent}, received ${plural(received, 'message')}`
          const isOwn = alive && agent_id !== 'operator'
          return (
            <a
              key={agent_id}
              class={`node ${alive ? '' : 'gone'} ${agent_id === 'operator' ? 'person' : ''}`}
              href={isOwn ? to('agents', [agent_id, 'messages']) : to('society')}
              aria-label={says}
              tabIndex={agent_id === current ? 0 : -1}
              onFocus={() => enter(agent_id)}
              onPointerEnter={() => enter(agent_id)}
              onKeyDown={event => step(event, n)}
              onClick={event => {
                event.preventDefault()
                if (isOwn) go(to('agents', [agent_id, 'messages']))
              }}
            >
              <title>{says}</title>
              {agents.length <= FEW && <circle class="reach" cx={point.x} cy={point.y} r={FINGER} />}
              <circle cx={point.x} cy={point.y} r={radius} />
              {!named.has(agent_id) && <Name at={point} radius={radius} name={name} class="late" />}
            </a>
          )
        })}
        {/* Over all nodes, so that none stands on a name. */}
        {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus. */}
        <g class="names" aria-hidden="true">
          {agents.map(member => {
            const point = points.get(member.agent_id)
            if (!point || !named.has(member.agent_id)) return null
            return <Name key={member.agent_id} at={point} radius={radiusOf(member)} name={member.name} />
          })}
        </g>
      </svg>
    </>
  )
}

interface NameProps {
  at: Point
  radius: number
  name: string
  class?: string
}

function Name({ at, radius, name, class: className = '' }: NameProps) {
  return (
    <text x={at.x} y={at.y + radius + BELOW} class={className}>
      {visible(name).slice(0, LETTERS)}
    </text>
  )
}

const total = ({ sent, received }: Member) => sent + received
const isOf = ({ one, other }: Pair, agent_id: string) => one.agent_id === agent_id || other.agent_id === agent_id

/** Returns the agents whose names are shown: the most active first, as long as no name covers another. */
function namesOf(
  agents: readonly Member[],
  points: ReadonlyMap<string, Point>,
  radiusOf: (member: Member) => number,
): ReadonlySet<string> {
  const written: (Point & { half: number; agent_id: string })[] = []
  for (const member of agents.slice(0, agents.length > MANY ? NAMED : MANY)) {
    const point = points.get(member.agent_id)
    if (!point) continue
    const half = (visible(member.name).slice(0, LETTERS).length * LETTER) / 2
    const name = { x: point.x, y: point.y + radiusOf(member), half, agent_id: member.agent_id }
    const covers = (other: typeof name) =>
      Math.abs(other.x - name.x) < other.half + half && Math.abs(other.y - name.y) < LINE
    if (!written.some(covers)) written.push(name)
  }
  return new Set(written.map(({ agent_id }) => agent_id))
}

/** Returns the next or the previous conversation of an agent, in a circle. */
function neighbour(pairs: readonly Pair[], { agent_id }: Member, chosen: string, by: number): Pair | undefined {
  const own = pairs.filter(pair => isOf(pair, agent_id))
  const at = own.findIndex(({ key }) => key === chosen)
  return own[(at + by + own.length) % own.length]
}

/**
 * Computes the layout again only when an agent or a conversation is added or removed; other nodes stay about where they
 * were.
 */
function useLayout(agents: readonly Member[], pairs: readonly Pair[], frame: typeof WIDE): ReadonlyMap<string, Point> {
  const known = useRef(new Map<string, Point>())
  const ids = agents.map(({ agent_id }) => agent_id).sort()
  const shape = [...ids, ...pairs.map(({ key }) => key).sort()].join('\n')
  return useMemo(() => {
    const places = new Map(ids.map((id, n) => [id, n]))
    const most = Math.max(1, ...pairs.map(({ messages }) => messages))
    const links: Link[] = pairs.map(({ one, other, messages }) => ({
      from: places.get(one.agent_id)!,
      to: places.get(other.agent_id)!,
      weight: Math.sqrt(messages / most),
    }))
    const before = ids.map(id => known.current.get(id))
    const points = layout(ids.length, links, frame, before)
    known.current = new Map(ids.map((id, n) => [id, points[n]!]))
    return known.current
  }, [shape, frame])
}

/** Returns a smaller frame on phones, because letters keep their size. */
function useFrame(): typeof WIDE {
  const [narrow, setNarrow] = useState(phone.matches)
  useEffect(() => {
    const onChange = () => setNarrow(phone.matches)
    phone.addEventListener('change', onChange)
    return () => phone.removeEventListener('change', onChange)
  }, [])
  return narrow ? NARROW : WIDE
}
