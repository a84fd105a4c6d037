import type { DetectiveCase } from '../contract.ts'

export const lighthouse: DetectiveCase = {
  name: 'lighthouse',
  title: 'The night without a light',
  story:
    'For eleven minutes in the night of 9 November the light of Skarv Head was dark, and the coaster Maren ran onto the rocks. No one was hurt. The lamp was whole; someone had switched it off, and on again.',
  suspects: [
    { name: 'Henrik Dahl', about: 'Keeper of the light, who retires in spring.' },
    { name: 'Signe Moe', about: 'Captain of the Maren, who knows these waters by heart.' },
    { name: 'Aksel Brandt', about: 'Owner of the Maren and of two more ships.' },
    { name: 'Ingrid Lunde', about: 'Engineer of the authority that wants to automate the light.' },
  ],
  motives: [
    { name: 'insurance', about: 'A wreck was worth more than a ship.' },
    { name: 'grudge', about: 'Someone was to pay for an old wrong.' },
    { name: 'progress', about: 'It was to be shown that people are no match for machines.' },
    { name: 'smuggling', about: 'Something was landed in the dark.' },
  ],
  rounds: [
    [
      'Henrik Dahl was asleep in the house below; he says that the switch stands in an unlocked room.',
      'Ingrid Lunde wrote in October that one accident would do more than ten reports. Progress, she calls it.',
      'Signe Moe and Henrik Dahl have had a quarrel over a boat since 2009; people speak of a grudge.',
    ],
    [
      'Ingrid Lunde was at a hearing in the capital until midnight; four members of the commission are witnesses. She was away.',
      'Aksel Brandt raised the insurance of the Maren in September to twice what she is worth.',
      'Fishermen saw a car without lights on the road to the light at a quarter to two.',
    ],
    [
      'Signe Moe was on the bridge all night; the helmsman and the recorder confirm it. She could not have been at the switch.',
      'The tyres that left marks by the tower fit the car of Aksel Brandt, which he lied about: he said it was in the shop.',
      'Customs looked through the wreck and the coves: there was no smuggling.',
    ],
    [
      'A ticket for the car ferry at ten past three was found in the coat of Aksel Brandt.',
      'Two days before, he had asked the captain by radio to pass close to the head, to save time, as the recorder proves.',
      'Henrik Dahl telephoned the coast guard from the house one minute after the light came back; he was still out of breath from the stairs, having run up to put it on.',
    ],
  ],
  solution: {
    suspect: 'Aksel Brandt',
    motive: 'insurance',
    explanation:
      'He drove out, turned off the light as his own ship passed where he had told it to pass, and took the ferry back. The keeper saw that it was dark and ran up. The Maren was insured for twice what she was worth.',
  },
}
