test('x', () => { expect(process.env['EVERSTEP_TEST_TEMPORAL_ADDRESS']).toBe(1); });
