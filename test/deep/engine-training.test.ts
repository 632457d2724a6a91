import '../unit/engines/local/compute/training.test';
