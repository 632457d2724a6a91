import { detectLanguage } from '../../../../src/evaluation/graders/language/detect-language';

test.each([
  ['en', 'The weather is nice today and we are going to the park with our friends.'],
  ['de', 'Das Wetter ist heute schön und wir gehen mit unseren Freunden in den Park.'],
  ['fr', 'Il fait beau aujourd’hui et nous allons au parc avec nos amis.'],
  ['es', 'Hoy hace buen tiempo y vamos al parque con nuestros amigos.'],
  ['pt', 'Hoje o tempo está bom e nós vamos ao parque com os nossos amigos.'],
  ['it', 'Oggi il tempo è bello e andiamo al parco con i nostri amici.'],
  ['fi', 'Tänään sää on kaunis ja menemme puistoon ystäviemme kanssa.'],
  ['pl', 'Dzisiaj pogoda jest ładna i idziemy do parku z naszymi przyjaciółmi.'],
  ['vi', 'Hôm nay thời tiết đẹp và chúng tôi đi công viên với bạn bè.'],
  ['ru', 'Сегодня хорошая погода, и мы идём в парк с друзьями.'],
  ['uk', 'Сьогодні гарна погода, і ми йдемо до парку з друзями.'],
  ['bg', 'Днес времето е хубаво и отиваме в парка с нашите приятели.'],
  ['ar', 'الطقس جميل اليوم ونحن ذاهبون إلى الحديقة مع أصدقائنا.'],
  ['fa', 'امروز هوا خوب است و ما با دوستانمان به پارک می‌رویم.'],
  ['he', 'מזג האוויר יפה היום ואנחנו הולכים לפארק עם החברים שלנו.'],
  ['hi', 'आज मौसम अच्छा है और हम अपने दोस्तों के साथ पार्क जा रहे हैं।'],
  ['bn', 'আজ আবহাওয়া সুন্দর এবং আমরা বন্ধুদের সাথে পার্কে যাচ্ছি।'],
  ['ta', 'இன்று வானிலை நன்றாக உள்ளது, நாங்கள் பூங்காவிற்கு செல்கிறோம்.'],
  ['th', 'วันนี้อากาศดีและเรากำลังไปสวนสาธารณะกับเพื่อน'],
  ['ko', '오늘은 날씨가 좋아서 우리는 친구들과 공원에 갑니다.'],
  ['ja', '今日は天気がいいので、友達と公園に行きます。'],
  ['zh-cn', '今天天气很好，我们和朋友们去公园玩。'],
])('%s', (language, text) => {
  expect(detectLanguage(text)).toBe(language);
});

test('links and addresses say nothing', () => {
  expect(
    detectLanguage('Das ist kurz. https://the-english-website.com/with/many/words me@words.example.com'),
  ).toBe('de');
});

test.each(['', '123 !?', '12:30 → 13:00'])('%j has no language', (text) => {
  expect(detectLanguage(text)).toBeNull();
});

test('a text has one answer, however often it is asked', () => {
  const text = 'ok hotel taxi radio banana';

  expect(new Set(Array.from({ length: 5 }, () => detectLanguage(text))).size).toBe(1);
});
