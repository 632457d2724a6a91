import { bfcl } from '../../../../../src/evaluation/graders/bfcl/bfcl';
import { parseJson } from '../../../../../src/core/whole-floats';
import { readCalls } from '../../../../../src/evaluation/graders/bfcl/read-calls';

const AREA = {
  name: 'geometry.area',
  parameters: {
    type: 'dict',
    properties: {
      base: { type: 'integer' },
      height: { type: 'float' },
      unit: { type: 'string' },
      tags: { type: 'array', items: { type: 'string' } },
      point: { type: 'tuple', items: { type: 'float' } },
      options: { type: 'dict' },
      exact: { type: 'boolean' },
    },
    required: ['base', 'height'],
  },
};
const ROW = {
  id: 'simple_python_1',
  function: [AREA],
  ground_truth: [
    {
      'geometry.area': {
        base: [10],
        height: [5, 5.5],
        unit: ['square units', 'cm', ''],
        tags: [['Red', 'blue'], ''],
        point: [[1.5, 2.5], ''],
        options: [{ mode: ['Fast', ''], depth: [2] }, ''],
        exact: [true, ''],
      },
    },
  ],
};

test.each([
  ['[geometry.area(base=10, height=5)]', 1],
  ['geometry.area(base=10, height=5.0)', 1],
  ['```python\n[geometry.area(base=10, height=5.5, unit="Square-Units")]\n```', 1],
  ['[{"name": "geometry.area", "arguments": {"base": 10, "height": 5}}]', 1],
  ['[{"geometry.area": {"base": 10, "height": 5}}]', 1],
  ['{"name": "geometry.area", "arguments": "{\\"base\\": 10, \\"height\\": 5}"}', 1],
  ['<tool_call>\n{"name": "geometry.area", "arguments": {"base": 10, "height": 5}}\n</tool_call>', 1],
  ["[geometry.area(base=10, height=5, tags=['red', 'Blue'])]", 1],
  ['[geometry.area(base=10, height=5, point=(1.5, 2.5))]', 1],
  ["[geometry.area(base=10, height=5, options={'mode': 'fast', 'depth': 2})]", 1],
  ['[geometry.area(base=10, height=5, options={"depth": 1 + 1}, exact=True)]', 1],
  ['[geometry.area(base=5 * 2, height=11 / 2)]', 1],
  ['[geometry.area(base=12 - +2, height=5)]', 1],
  ['[geometry.area(base=9 + True, height=5)]', 1],
  ['[geometry.area(base=-2 * -5, height=5)]', 1],
  ['[geometry.area(base=10, height=5, unit="square-units" * 1)]', 1],
  ['[geometry.area(base=10, height=5, tags=["red"] + ["blue"])]', 1],
  ['[(geometry.area(base=0xA, height=5))]', 1],
  ['[((geometry.area(base=10, height=5)))]', 1],
  ['[(geometry.area)(base=10, height=5)]', 1],
  ['[{"name": "geometry.area", "arguments": {"base": 10, "height": 5, "exact": true}}]', 1],
  ['[geometry.area(base=10, height=5, tags=[])]', 1],
])('%s is right', (reply, value) => {
  expect(bfcl.grade(reply, ROW)).toMatchObject({ value, explanation: 'right' });
});

test.each([
  ['[geometry.area(base=10.0, height=5)]', 'type_error:simple'],
  ['[geometry.area(base=True, height=5)]', 'type_error:simple'],
  ['[geometry.area(base="10", height=5)]', 'type_error:simple'],
  ['[geometry.area(base=11, height=5)]', 'value_error:others'],
  ['[geometry.area(base=10, height=5, unit="metres")]', 'value_error:string'],
  ["[geometry.area(base=10, height=5, tags=['blue', 'red'])]", 'value_error:list/tuple'],
  ["[geometry.area(base=10, height=5, tags=['red', 1])]", 'value_error:list/tuple'],
  ['[geometry.area(base=10, height=5, exact=true)]', 'type_error:simple'],
  ['[geometry.area(base=10, height=5, options=dict(depth=2))]', 'value_error:dict_key'],
  ['[geometry.area(base=+10, height=5)]', 'value_error:others'],
  ['[geometry.area(base=10, height=-5)]', 'value_error:others'],
  ["[geometry.area(base=10, height=5, options={'mode': 'fast'})]", 'value_error:dict_key'],
  ["[geometry.area(base=10, height=5, options={'mode': 'slow', 'depth': 2})]", 'value_error:dict_value'],
  ['[geometry.area(base=10)]', 'simple_function_checker:missing_required'],
  ['[geometry.area(10, 5)]', 'simple_function_checker:missing_required'],
  ['[geometry.area(base=10, height=5, colour="red")]', 'simple_function_checker:unexpected_param'],
  ['[area(base=10, height=5)]', 'simple_function_checker:wrong_func_name'],
  [
    '[geometry.area(base=10, height=5), geometry.area(base=10, height=5)]',
    'simple_function_checker:wrong_count',
  ],
  ['[]', 'simple_function_checker:wrong_count'],
  ['I cannot help with that.', 'ast_decoder:decoder_failed'],
  ['', 'ast_decoder:decoder_failed'],
  ['[geometry.area(base=10, height=', 'ast_decoder:decoder_failed'],
  ['[geometry.area(base=--10, height=5)]', 'ast_decoder:decoder_failed'],
  ['[geometry.area(base=-ten, height=5)]', 'ast_decoder:decoder_failed'],
  ['[geometry.area(base=ten + 1, height=5)]', 'ast_decoder:decoder_failed'],
  ['[geometry.area(base="a" * 1000000000, height=5)]', 'ast_decoder:decoder_failed'],
  [`[geometry.area(base=${'-'.repeat(100_000)}1, height=5)]`, 'ast_decoder:decoder_failed'],
  [`[${'('.repeat(100_000)}`, 'ast_decoder:decoder_failed'],
])('%s is wrong: %s', (reply, explanation) => {
  expect(bfcl.grade(reply, ROW)).toMatchObject({ value: 0, explanation });
});

test('several calls count in any order, each once', () => {
  const row = {
    id: 'parallel_3',
    function: [AREA],
    ground_truth: [
      { 'geometry.area': { base: [1], height: [2] } },
      { 'geometry.area': { base: [3], height: [4] } },
    ],
  };
  const first = 'geometry.area(base=1, height=2)';
  const second = 'geometry.area(base=3, height=4)';

  expect(bfcl.grade(`[${second}, ${first}]`, row)).toMatchObject({ value: 1 });
  expect(bfcl.grade(`[${first}, ${first}]`, row)).toMatchObject({ value: 0 });
  expect(bfcl.grade(`[${first}]`, row)).toMatchObject({
    explanation: 'parallel_function_checker_no_order:wrong_count',
  });
});

test('an optional argument that is not marked as such has to be there', () => {
  const row = { ...ROW, ground_truth: [{ 'geometry.area': { base: [10], height: [5], unit: ['cm'] } }] };

  expect(bfcl.grade('geometry.area(base=10, height=5)', row)).toMatchObject({
    value: 0,
    explanation: 'simple_function_checker:missing_optional',
  });
});

test.each([
  ['irrelevance_1', 'No function fits.', 1],
  ['irrelevance_1', '[]', 1],
  ['irrelevance_1', '[geometry.area(base=1, height=2)]', 0],
  ['live_irrelevance_1-0-0', '', 1],
  ['live_relevance_1-0-0', '[geometry.area(base=1, height=2)]', 1],
  ['live_relevance_1-0-0', 'Which one?', 0],
])('%s with %j scores %d', (id, reply, value) => {
  expect(bfcl.grade(reply, { id, function: [AREA] })).toMatchObject({ value });
});

test.each(['multi_turn_base_0', 'memory_kv_1'])('%s is refused', (id) => {
  expect(() => bfcl.grade('[f()]', { ...ROW, id })).toThrow(`"${id}" is of a category`);
});

test.each([
  ['[f(a=\'it\\\'s\', b="""two\nlines""", c=-1.5e3, d=[(1,), {}], e=None, f=r\'\\d\')]', 6],
  ['[f(año=2024)]', 1],
  ['f(a=[1, 2,], b=(3), c=g(x=1))', 3],
  ['f()', 0],
])('reads the %d arguments of %s', (text, count) => {
  expect(readCalls(text)?.[0]?.args.size).toBe(count);
});

test('5 and 5.0 are two types where items have a declared one, as the row was written', () => {
  const declared = {
    name: 'f',
    parameters: { properties: { x: { type: 'array', items: { type: 'float' } } }, required: ['x'] },
  };
  const value = (accepted: string, reply: string) =>
    bfcl.grade(reply, {
      id: 'simple_python_1',
      function: [declared],
      ground_truth: parseJson(`[{"f": {"x": [${accepted}]}}]`),
    });

  expect(value('[1.0, 3.0]', '[f(x=[1.0, 3.0])]')).toMatchObject({ value: 1 });
  expect(value('[1.0, 3.0]', '[f(x=[1, 3])]')).toMatchObject({ explanation: 'type_error:nested' });
  expect(value('[1, 3]', '[f(x=[1, 3])]')).toMatchObject({ value: 1 });
  expect(value('[1, 3]', '[f(x=[1.0, 3.0])]')).toMatchObject({ value: 1 });
});

const JAVA = {
  id: 'simple_java_1',
  function: [
    {
      name: 'Store.open',
      parameters: {
        properties: {
          name: { type: 'String' },
          size: { type: 'integer' },
          limit: { type: 'long' },
          rate: { type: 'float' },
          isOpen: { type: 'boolean' },
          parts: { type: 'ArrayList', items: { type: 'String' } },
          sizes: { type: 'Array', items: { type: 'integer' } },
          owner: { type: 'any' },
        },
        required: ['name'],
      },
    },
  ],
  ground_truth: [
    {
      'Store.open': {
        name: ['Main Store'],
        size: [3, ''],
        limit: [5, ''],
        rate: [1.5, ''],
        isOpen: [true, ''],
        parts: [['a', 'b'], ''],
        sizes: [[1, 2], ''],
        owner: ['ownerMap', ''],
      },
    },
  ],
};

test.each([
  ['Store.open(name="Main Store")', 1, 'right'],
  ['[Store.open(name = "main store", size=3, limit=5L, rate=1.5f, isOpen=true)]', 1, 'right'],
  ['[Store.open(name="Main Store", parts=new ArrayList<String>(Arrays.asList("a", "b")))]', 1, 'right'],
  ['[Store.open(name="Main Store", sizes=new int[]{1, 2}, owner=ownerMap)]', 1, 'right'],
  ['[Store.open(name="Main Store", limit=5)]', 0, 'type_error:simple'],
  ['[Store.open(name="Main Store", rate=1.5)]', 0, 'type_error:simple'],
  ['[Store.open(name="Main Store", isOpen=false)]', 0, 'value_error:others'],
  ['[Store.open(size=3)]', 0, 'simple_function_checker:missing_required'],
  ['[Store.open(name="Main Store", name="Main Store")]', 0, 'ast_decoder:decoder_failed'],
  ['[Store.open(name=Main Store)]', 0, 'ast_decoder:decoder_failed'],
  ['I would open it.', 0, 'ast_decoder:decoder_failed'],
])('Java: %s scores %d', (reply, value, explanation) => {
  expect(bfcl.grade(reply, JAVA)).toMatchObject({ value, explanation });
});

test.each([
  ["[draw(items=[1, 2], options={color: 'red', size: 2}, label='Top left')]", 1],
  ['[draw(items=new Array(1, 2), options={"size": 2, "color": "red"}, label="top left")]', 1],
  ['[draw(items=["1", 2], options={color: "red", size: 2}, label="Top left")]', 0],
  ['[draw(items=[1, 2], options={color: "red"}, label="Top left")]', 0],
])('JavaScript: %s scores %d', (reply, value) => {
  const properties = {
    items: { type: 'array', items: { type: 'integer' } },
    options: { type: 'dict' },
    label: { type: 'String' },
  };
  const row = {
    id: 'simple_javascript_1',
    function: [{ name: 'draw', parameters: { properties, required: ['items'] } }],
    ground_truth: [
      { draw: { items: [[1, 2]], options: [{ color: ['red'], size: [2] }], label: ['Top left'] } },
    ],
  };

  expect(bfcl.grade(reply, row)).toMatchObject({ value });
});

test.each(['java', 'javascript'])(
  'a call in %s of thousands of brackets in one another is no call',
  (kind) => {
    const row = { ...ROW, id: `${kind}_1` };

    expect(bfcl.grade(`f(x=${'['.repeat(5000)}`, row)).toMatchObject({ value: 0 });
  },
);

test.each([
  ['lists', Array.from({ length: 2000 }, () => '[1]*90000').join(',')],
  ['sums of lists', Array.from({ length: 20_000 }, () => '[1]').join('+')],
  ['texts', Array.from({ length: 2000 }, () => "'x'*90000").join(',')],
  ['powers', `${'1**'.repeat(20_000)}1`],
])('a call of more %s than are computed is no call', (_what, items) => {
  expect(readCalls(`[f(x=[${items}])]`)).toBeNull();
});
