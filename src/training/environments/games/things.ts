/** Something to think of, and what is true of it. */
export interface Thing {
  readonly name: string;
  readonly traits: readonly Trait[];
}

/** Words by which a question asks for a trait; those of one trait mean the same. */
export const TRAIT_WORDS = {
  animal: ['animal', 'animals', 'creature'],
  alive: ['alive', 'living', 'live'],
  plant: ['plant', 'plants', 'grow', 'grows'],
  mammal: ['mammal', 'mammals', 'milk'],
  bird: ['bird', 'birds', 'feathers'],
  fish: ['fish'],
  insect: ['insect', 'insects', 'bug'],
  flies: ['fly', 'flies', 'flying', 'wings'],
  swims: ['swim', 'swims', 'water', 'sea', 'ocean'],
  pet: ['pet', 'pets', 'domestic'],
  wild: ['wild', 'jungle', 'zoo'],
  dangerous: ['dangerous', 'predator', 'harm'],
  food: ['food', 'eat', 'eaten', 'edible', 'eats'],
  fruit: ['fruit', 'fruits'],
  vegetable: ['vegetable', 'vegetables'],
  sweet: ['sweet', 'sugar'],
  drink: ['drink', 'drunk', 'beverage', 'liquid'],
  vehicle: ['vehicle', 'vehicles', 'transport', 'transportation', 'ride', 'travel'],
  motor: ['motor', 'engine'],
  wheels: ['wheel', 'wheels'],
  electric: ['electric', 'electricity', 'electronic', 'battery', 'plug'],
  furniture: ['furniture'],
  tool: ['tool', 'tools'],
  instrument: ['instrument', 'music', 'musical'],
  clothing: ['clothing', 'clothes', 'wear', 'worn'],
  indoors: ['indoors', 'inside', 'house', 'home', 'household', 'room'],
  kitchen: ['kitchen', 'cook', 'cooking'],
  paper: ['paper', 'read', 'reading'],
  metal: ['metal', 'metallic', 'steel', 'iron'],
  wooden: ['wood', 'wooden'],
  big: ['big', 'bigger', 'large', 'larger', 'huge'],
  small: ['small', 'smaller', 'tiny', 'hand', 'pocket'],
  made: ['made', 'man-made', 'artificial', 'object', 'built', 'manufactured'],
  round: ['round', 'ball', 'sphere', 'circular'],
} satisfies Record<string, readonly string[]>;
export type Trait = keyof typeof TRAIT_WORDS;

export const THINGS: readonly Thing[] = [
  animal('dog', 'mammal', 'pet'),
  animal('cat', 'mammal', 'pet', 'small'),
  animal('horse', 'mammal', 'big'),
  animal('cow', 'mammal', 'big'),
  animal('elephant', 'mammal', 'wild', 'big'),
  animal('lion', 'mammal', 'wild', 'dangerous', 'big'),
  animal('mouse', 'mammal', 'small'),
  animal('whale', 'mammal', 'wild', 'swims', 'big'),
  animal('bat', 'mammal', 'wild', 'flies', 'small'),
  animal('eagle', 'bird', 'wild', 'flies', 'dangerous'),
  animal('parrot', 'bird', 'pet', 'flies', 'small'),
  animal('penguin', 'bird', 'wild', 'swims'),
  animal('chicken', 'bird', 'food'),
  animal('shark', 'fish', 'wild', 'swims', 'dangerous', 'big'),
  animal('goldfish', 'fish', 'pet', 'swims', 'small'),
  animal('bee', 'insect', 'flies', 'small'),
  animal('ant', 'insect', 'small'),
  grown('apple', 'fruit', 'sweet', 'round', 'small'),
  grown('banana', 'fruit', 'sweet', 'small'),
  grown('orange', 'fruit', 'sweet', 'round', 'small'),
  grown('melon', 'fruit', 'sweet', 'round', 'big'),
  grown('carrot', 'vegetable', 'small'),
  grown('potato', 'vegetable', 'kitchen', 'small'),
  grown('tomato', 'vegetable', 'round', 'small'),
  { name: 'tree', traits: ['alive', 'plant', 'big', 'wooden'] },
  { name: 'rose', traits: ['alive', 'plant', 'small'] },
  { name: 'bread', traits: ['food', 'made', 'kitchen'] },
  { name: 'cake', traits: ['food', 'sweet', 'made', 'kitchen'] },
  { name: 'coffee', traits: ['drink', 'made', 'kitchen'] },
  { name: 'milk', traits: ['drink', 'food', 'kitchen'] },
  object('car', 'vehicle', 'motor', 'wheels', 'metal', 'big'),
  object('bicycle', 'vehicle', 'wheels', 'metal'),
  object('train', 'vehicle', 'motor', 'wheels', 'metal', 'electric', 'big'),
  object('airplane', 'vehicle', 'motor', 'wheels', 'flies', 'metal', 'big'),
  object('boat', 'vehicle', 'swims', 'big'),
  object('table', 'furniture', 'wooden', 'indoors', 'big'),
  object('chair', 'furniture', 'wooden', 'indoors'),
  object('bed', 'furniture', 'indoors', 'big'),
  object('lamp', 'electric', 'indoors'),
  object('telephone', 'electric', 'indoors', 'small'),
  object('television', 'electric', 'indoors', 'big'),
  object('computer', 'electric', 'indoors'),
  object('refrigerator', 'electric', 'indoors', 'kitchen', 'metal', 'big'),
  object('knife', 'tool', 'metal', 'kitchen', 'indoors', 'dangerous', 'small'),
  object('spoon', 'tool', 'metal', 'kitchen', 'indoors', 'small'),
  object('hammer', 'tool', 'metal', 'small'),
  object('guitar', 'instrument', 'wooden', 'indoors'),
  object('piano', 'instrument', 'wooden', 'indoors', 'big'),
  object('drum', 'instrument', 'round', 'indoors'),
  object('shoe', 'clothing', 'small'),
  object('hat', 'clothing', 'small'),
  object('coat', 'clothing'),
  object('book', 'paper', 'indoors', 'small'),
  object('newspaper', 'paper', 'indoors'),
  object('football', 'round', 'small'),
  object('key', 'metal', 'small', 'indoors'),
];

function animal(name: string, ...traits: readonly Trait[]): Thing {
  return { name, traits: ['animal', 'alive', ...traits] };
}

function grown(name: string, ...traits: readonly Trait[]): Thing {
  return { name, traits: ['plant', 'food', ...traits] };
}

function object(name: string, ...traits: readonly Trait[]): Thing {
  return { name, traits: ['made', ...traits] };
}
