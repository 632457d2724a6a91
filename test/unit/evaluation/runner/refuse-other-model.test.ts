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

test('where a model is asked is called by its own option, there and now', async () => {
  const request = requestOf({ dataFolder: dataFolder(3) });
  await evaluate(modelThatSays(numberIn).completer, request);
  const { model } = request.model;
  const elsewhere = { ...request, model: { type: 'engine' as const, model, path: null, label: 'run@5' } };

  await expect(refuseOtherModel(elsewhere)).rejects.toThrow(
    /was begun with --endpoint http:[^,]+, and --checkpoint run@5 is asked for/,
  );
});
