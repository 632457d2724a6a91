import { refuseOtherModel } from '../../../../src/evaluation/runner/refuse-other-model';
import { dataFolder, evaluate, numberIn, requestOf } from './evaluate-here';
import { modelThatSays } from './fake-model';

test('a folder of another model is refused before anything of it is shown', async () => {
  const request = requestOf({ dataFolder: dataFolder(3) });
  await evaluate(modelThatSays(numberIn).completer, request);

  const other = { ...request, model: { ...request.model, model: 'another/model' } };

  await expect(refuseOtherModel(other)).rejects.toMatchObject({ code: 'refused' });
  await expect(refuseOtherModel(other)).rejects.toThrow(/--model .*another\/model is asked for/);
  await expect(refuseOtherModel(request)).resolves.toBeUndefined();
  await expect(refuseOtherModel({ ...other, folder: `${request.folder}-new` })).resolves.toBeUndefined();
});
