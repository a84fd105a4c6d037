import { createHash } from 'node:crypto'

const NAMES = [
  ...['Alder', 'Amber', 'Anise', 'Aspen', 'Basil', 'Birch', 'Briar', 'Cedar', 'Clover', 'Comet', 'Coral', 'Cricket'],
  ...['Dune', 'Ember', 'Fable', 'Fennel', 'Fern', 'Finch', 'Flint', 'Hazel', 'Heron', 'Indigo', 'Iris', 'Ivy'],
  ...['Juniper', 'Kestrel', 'Lark', 'Laurel', 'Linden', 'Lotus', 'Maple', 'Marlow', 'Mica', 'Onyx', 'Opal', 'Orchid'],
  ...[
    'Pepper',
    'Quill',
    'Raven',
    'Robin',
    'Rowan',
    'Saffron',
    'Sage',
    'Sorrel',
    'Sparrow',
    'Thistle',
    'Willow',
    'Wren',
  ],
]

/** Returns an agent's display name, which depends only on its id, so that a seeded run gets the same name. */
export function displayName(agent_id: string): string {
  const digest = createHash('sha256').update(`display name of ${agent_id}`).digest()
  return NAMES[digest.readUInt32BE() % NAMES.length]!
}
