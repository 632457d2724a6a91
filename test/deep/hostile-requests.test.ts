import '../contract/hostile-requests.test';
